package colloc_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// alone describes a task by what was seen of it alone on an RTX 3090.
func alone(name string, gpuBusy, memBusy float64, peak profile.Bytes) colloc.Task {
	gpu, _ := profile.LookupGPU("RTX 3090")
	p, err := profile.New(
		profile.Spec{Model: profile.Model{Name: name}, Training: profile.Training{BatchSize: 64}},
		profile.Trace{Samples: []profile.Sample{{
			GPUBusy: profile.Some(gpuBusy), MemBusy: profile.Some(memBusy), MemUsed: profile.Some(peak),
		}}},
		gpu)
	if err != nil {
		log.Fatal(err)
	}
	return colloc.Task{ID: name, Profile: &p}
}

// A scheduler asks Fit and Score for one task and each GPU, as its filter and
// score steps do.
func Example() {
	planner, err := colloc.New(colloc.Config{}) // pretrained models, 10 % headroom
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("NVIDIA GeForce RTX 3090")
	busy := colloc.GPU{ID: "gpu0", Model: gpu, Residents: []colloc.Task{alone("bert", 0.99, 0.7, 16*profile.GiB)}}
	calm := colloc.GPU{ID: "gpu1", Model: gpu, Residents: []colloc.Task{alone("pointnet", 0.12, 0.1, 4*profile.GiB)}}

	task := alone("mobilenet", 0.35, 0.1, 3*profile.GiB)
	best, bestScore := "", 0.0
	for _, g := range []colloc.GPU{busy, calm} {
		verdict, err := planner.Fit(task, g) // filter
		if err != nil {
			log.Fatal(err)
		}
		score, err := planner.Score(task, g) // throughput that the task would add
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: fits %v\n", g.ID, verdict.Fits)
		if score > bestScore {
			best, bestScore = g.ID, score
		}
	}
	fmt.Println("goes to", best)
	// Output:
	// gpu0: fits true
	// gpu1: fits true
	// goes to gpu1
}

// Plan decides for all waiting tasks at once.
func ExamplePlanner_Plan() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	tasks := []colloc.Task{
		alone("bert", 0.99, 0.7, 16*profile.GiB),
		alone("mobilenet", 0.35, 0.1, 3*profile.GiB),
		alone("pointnet", 0.12, 0.1, 4*profile.GiB),
	}
	plan, err := planner.Plan(context.Background(), tasks, []colloc.GPU{{ID: "gpu0", Model: gpu}, {ID: "gpu1", Model: gpu}})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range plan.Placements {
		fmt.Print(p.GPU, ":")
		for _, m := range p.Members {
			fmt.Print(" ", m.Task)
		}
		fmt.Println()
	}
	fmt.Printf("better than exclusive: %v, proven optimal: %v\n", plan.Throughput > plan.Exclusive, plan.Gap == 0)
	// Output:
	// gpu0: bert
	// gpu1: mobilenet pointnet
	// better than exclusive: true, proven optimal: true
}

// A task that does not fit gets a reason, not an error.
func ExamplePlanner_Fit() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	resident := alone("bert", 0.99, 0.7, 16*profile.GiB)
	verdict, err := planner.Fit(alone("pointnet", 0.12, 0.1, 6*profile.GiB), colloc.GPU{ID: "gpu0", Model: gpu, Residents: []colloc.Task{resident}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(verdict)
	// Output:
	// memory: needs 6.12 GiB, 5.28 GiB are free; 860.16 MiB more would lift it
}

// What was measured of a co-run improves the next answer.
func ExamplePlanner_Observe() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	a, b := alone("mobilenet", 0.35, 0.1, 3*profile.GiB), alone("pointnet", 0.12, 0.1, 4*profile.GiB)
	before, err := planner.Fit(a, colloc.GPU{ID: "gpu0", Model: gpu, Residents: []colloc.Task{b}})
	if err != nil {
		log.Fatal(err)
	}
	for range 5 {
		err = planner.Observe(colloc.Observation{
			GPU: gpu, Mechanism: profile.TimeSlice,
			Members: []colloc.Measurement{{Profile: a.Profile, Speed: profile.Some(0.6)}, {Profile: b.Profile, Speed: profile.Some(0.95)}},
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	after, err := planner.Fit(a, colloc.GPU{ID: "gpu0", Model: gpu, Residents: []colloc.Task{b}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("slower than predicted, and believed:", after.Speed.Value < before.Speed.Value-0.1)
	// Output:
	// slower than predicted, and believed: true
}

// Two tenants who share with nobody else, a task that belongs on one node, and a
// process that nobody registered: each refusal names who or what is in the way.
func ExamplePlanner_Fit_labels() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	red, blue := alone("mobilenet", 0.35, 0.1, 3*profile.GiB), alone("pointnet", 0.12, 0.1, 4*profile.GiB)
	red.Labels, red.Only = []string{"red"}, []string{"red"}
	blue.Labels, blue.Only = []string{"blue"}, []string{"blue"}
	far := alone("bert", 0.99, 0.7, 16*profile.GiB)
	far.On = []string{"node-2"}
	foreign, err := colloc.Foreign("pid 4711", gpu, profile.Sample{MemUsed: profile.Some(2 * profile.GiB)})
	if err != nil {
		log.Fatal(err)
	}
	for _, ask := range []struct {
		task colloc.Task
		gpu  colloc.GPU
	}{
		{red, colloc.GPU{ID: "gpu0", Model: gpu, Residents: []colloc.Task{blue}}},
		{far, colloc.GPU{ID: "gpu1", Model: gpu, Labels: []string{"node-1"}}},
		{red, colloc.GPU{ID: "gpu2", Model: gpu, Residents: []colloc.Task{foreign}}},
	} {
		verdict, err := planner.Fit(ask.task, ask.gpu)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(verdict)
	}
	// Output:
	// labels: the task and "pointnet" do not accept each other; Avoid and Only say which labels they bear
	// wrong GPU: the task asks for label "node-2", and the GPU does not carry it
	// must be alone: the task or "pid 4711" forbids sharing
}

// The best of several GPUs for one task.
func ExamplePlanner_Best() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	gpus := []colloc.GPU{
		{ID: "gpu0", Model: gpu, Residents: []colloc.Task{alone("bert", 0.99, 0.7, 16*profile.GiB)}},
		{ID: "gpu1", Model: gpu, Residents: []colloc.Task{alone("pointnet", 0.12, 0.1, 4*profile.GiB)}},
	}
	at, verdict, err := planner.Best(alone("mobilenet", 0.35, 0.1, 3*profile.GiB), gpus)
	if err != nil || at < 0 {
		log.Fatal(err)
	}
	fmt.Println(gpus[at].ID, verdict.Fits)
	// Output:
	// gpu1 true
}

// What runs on a card and is nobody's task counts with what it was seen to use.
func ExampleForeign() {
	gpu, _ := profile.LookupGPU("RTX 3090")
	foreign, err := colloc.Foreign("pid 4711", gpu, profile.Sample{MemUsed: profile.Some(20 * profile.GiB)})
	if err != nil {
		log.Fatal(err)
	}
	planner, err := colloc.New(colloc.Config{ShareForeign: true})
	if err != nil {
		log.Fatal(err)
	}
	card := colloc.GPU{ID: "gpu0", Model: gpu, Residents: []colloc.Task{foreign}}
	verdict, err := planner.Fit(alone("pointnet", 0.12, 0.1, 4*profile.GiB), card)
	fmt.Println(verdict, err)
	// Output:
	// memory: needs 4.08 GiB, 1.6 GiB are free; 2.48 GiB more would lift it <nil>
}

// What a Planner learned outlives the process: Save writes it, Load goes on.
func ExampleLoad() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	task := alone("bert", 0.99, 0.7, 16*profile.GiB)
	gpu, _ := profile.LookupGPU("RTX 3090")
	for _, m := range []colloc.Measurement{{Profile: task.Profile, Peak: profile.Some(18 * profile.GiB)}, {Profile: task.Profile, Throughput: profile.Some(40.0)}} {
		if err := planner.Observe(colloc.Observation{GPU: gpu, Members: []colloc.Measurement{m}}); err != nil {
			log.Fatal(err)
		}
	}
	var file bytes.Buffer // or os.Create, and os.Rename when it is whole
	if err := planner.Save(&file); err != nil {
		log.Fatal(err)
	}
	again, err := colloc.Load(&file, colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	learned, err := again.Learned(task)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(learned)
	// Output:
	// bert||bs64|fp32
	//   memory: at least 18.36 GiB is reserved, measured peak 18 GiB
	//   RTX3090 alone: throughput 40 in 1 runs
}

// A card that joins while a scheduler goes on.
func ExamplePlanner_PackedGPU() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	scheduler, err := planner.Scheduler(nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	packed, err := planner.Packed(alone("bert", 0.8, 0.5, 8*profile.GiB))
	if err != nil {
		log.Fatal(err)
	}
	if err := scheduler.Submit(online.Job{Task: packed, Left: profile.Some(time.Hour)}); err != nil {
		log.Fatal(err)
	}
	started, err := scheduler.Decide(context.Background(), 0)
	fmt.Println(len(started), err)
	gpu, _ := profile.LookupGPU("RTX 3090")
	card, err := planner.PackedGPU(colloc.GPU{ID: "gpu0", Model: gpu})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := scheduler.AddGPU(card, 0); err != nil {
		log.Fatal(err)
	}
	started, err = scheduler.Decide(context.Background(), time.Minute)
	fmt.Println(started[0].Task, err)
	// Output:
	// 0 <nil>
	// bert <nil>
}

// One bad task, and one bad card, do not stop the others.
func ExamplePlanner_Plan_faults() {
	planner, err := colloc.New(colloc.Config{LeaveOutFaulty: true})
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	bad := alone("vit", 0.9, 0.6, 8*profile.GiB)
	bad.Weight = -1
	plan, err := planner.Plan(context.Background(), []colloc.Task{bad, alone("bert", 0.99, 0.7, 16*profile.GiB)}, []colloc.GPU{{ID: "gpu0"}, {ID: "gpu1", Model: gpu}})
	if err != nil {
		log.Fatal(err)
	}
	for _, fault := range plan.LeftOut {
		fmt.Println(fault)
	}
	fmt.Println(plan.Placements[0].GPU, "runs", plan.Placements[0].Members[0].Task)
	// Output:
	// colloc: task 0 "vit": Weight is -1, want 0 to 1e+09
	// colloc: GPU 0 "gpu0": Memory is not known; set it, or Model from profile.LookupGPU
	// gpu1 runs bert
}

// Tasks run much slower than predicted, again and again: something has changed.
func ExamplePlanner_Drift() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	for i := range 16 { // always other tasks: what one type costs would be learned
		a, b := alone(fmt.Sprint("a", i), 0.2, 0.1, profile.GiB), alone(fmt.Sprint("b", i), 0.2, 0.1, profile.GiB)
		err := planner.Observe(colloc.Observation{GPU: gpu, Members: []colloc.Measurement{
			{Profile: a.Profile, Speed: profile.Some(0.3)}, {Profile: b.Profile, Speed: profile.Some(0.3)},
		}})
		if err != nil {
			log.Fatal(err)
		}
	}
	for _, regime := range planner.Drift() {
		fmt.Println(regime.GPU, regime.Mechanism, "slower than predicted:", regime.Drift.Bias > 0, "alarm:", regime.Drift.Alarm)
	}
	// Output:
	// RTX3090 time-slicing slower than predicted: true alarm: true
}

// Two tenants who share with nobody else.
func ExampleTask_Accepts() {
	a := colloc.Task{ID: "a", Labels: []string{"physics"}, Only: []string{"physics"}}
	b := colloc.Task{ID: "b", Labels: []string{"physics"}}
	c := colloc.Task{ID: "c", Labels: []string{"biology"}}
	fmt.Println(a.Accepts(&b), a.Accepts(&c), c.Accepts(&a), b.Accepts(&c))
	// Output:
	// true false false true
}

// Score compares places for one task: what it adds there, less what it costs its
// neighbours.
func ExamplePlanner_Score() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	task := alone("mobilenet", 0.35, 0.1, 3*profile.GiB)
	for _, resident := range []colloc.Task{alone("pointnet", 0.12, 0.1, 4*profile.GiB), alone("bert", 0.99, 0.7, 16*profile.GiB)} {
		score, err := planner.Score(task, colloc.GPU{ID: "gpu0", Model: gpu, Residents: []colloc.Task{resident}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("beside %s: %.1f\n", resident.ID, score)
	}
	// Output:
	// beside pointnet: 0.7
	// beside bert: 0.5
}

// Judge explains a verdict to people: every member, with interval and source.
func ExamplePlanner_Judge() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	resident, task := alone("pointnet", 0.12, 0.1, 4*profile.GiB), alone("mobilenet", 0.35, 0.1, 3*profile.GiB)
	placement, err := planner.Judge(task, colloc.GPU{ID: "gpu0", Model: gpu, Residents: []colloc.Task{resident}})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range placement.Members {
		fmt.Println(m.Task, "speed", m.Speed.Source.Kind, "memory", m.Memory.Source.Kind, "reserved", m.Reserved)
	}
	fmt.Println("within a speed of 1:", placement.Members[1].Speed.Hi <= 1, "- limit:", placement.Binding)
	// Output:
	// pointnet speed fitted memory measured reserved 4.08 GiB
	// mobilenet speed fitted memory measured reserved 3.06 GiB
	// within a speed of 1: true - limit: none
}

// Explain prints a plan for people: who shares, and why the others wait.
func ExamplePlan_Explain() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	plan, err := planner.Plan(context.Background(), []colloc.Task{alone("bert", 0.99, 0.7, 30*profile.GiB)}, []colloc.GPU{{ID: "gpu0", Model: gpu}})
	if err != nil {
		log.Fatal(err)
	}
	if err := plan.Explain(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Peak memory of 1 task, in GiB
	//
	//   task  peak   interval       reserved  memory is  GPU use is
	//   bert  30.00  29.40 - 30.60  30.60     measured   measured
	//
	// Plan
	//
	//   GPU  task  speed  interval  speed is  reserved  set
	//
	// 1 GPU: 0.00 tasks' worth of work instead of 0.00.
	// Proven under these predictions: no plan exceeds 0.00 (gap 0.00 %; auto: column generation: 1 types of task, 0 sets in 0 rounds, 0 steps (sets of up to 4, 1 types of task)).
	//
	// Not placed
	//
	//   bert waits: it needs 30.6 GiB and the largest GPU offers 21.6 GiB. A GPU that offers 9 GiB more, or a reservation of at most 21.6 GiB, would place it.
}

// Faults tells a program which of its tasks were refused, and where.
func ExampleFaults() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	task := alone("detector", 0.7, 0.3, 9*profile.GiB)
	task.Reserved = -1
	_, err = planner.Plan(context.Background(), []colloc.Task{task}, nil)
	for _, fault := range colloc.Faults(err) {
		fmt.Println(fault)
	}
	// Output:
	// colloc: task 0 "detector": Reserved is -1, want 0 bytes to 65536 TiB, or memory.Whole
}

// Usable is what all of colloc compares reservations with.
func ExampleUsable() {
	fmt.Println(colloc.Usable(40*profile.GiB, packer.DefaultHeadroom))
	// Output:
	// 36 GiB
}

// A scheduler of whole days: it is told what comes and ends, and says what starts now.
func ExamplePlanner_Scheduler() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	gpus := []colloc.GPU{{ID: "gpu0", Model: gpu}}
	scheduler, err := planner.Scheduler(gpus, nil)
	if err != nil {
		log.Fatal(err)
	}
	tasks := []colloc.Task{
		alone("bert", 0.9, 0.6, 14*profile.GiB), alone("mlp", 0.1, 0.05, 2*profile.GiB), alone("vit", 0.9, 0.7, 16*profile.GiB),
	}
	for _, task := range tasks {
		packed, err := planner.Packed(task)
		if err != nil {
			log.Fatal(err)
		}
		if err := scheduler.Submit(online.Job{Task: packed, Left: profile.Some(2 * time.Hour)}); err != nil {
			log.Fatal(err)
		}
	}
	decide := func(at time.Duration) {
		started, err := scheduler.Decide(context.Background(), at)
		if err != nil {
			log.Fatal(err)
		}
		for _, d := range started {
			fmt.Println(at, d.Task, "starts on", gpus[d.GPU].ID)
		}
	}
	decide(0)
	if err := scheduler.Finish("bert"); err != nil {
		log.Fatal(err)
	}
	if err := planner.Relearn(scheduler, gpus); err != nil { // what was observed since
		log.Fatal(err)
	}
	decide(2 * time.Hour)
	// Output:
	// 0s bert starts on gpu0
	// 0s mlp starts on gpu0
	// 2h0m0s vit starts on gpu0
}

// Tasks that share a GPU need a little more than the sum of their reservations.
func ExamplePlanner_Together() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(planner.Together(), "for each task beyond the first")
	// Output:
	// 1.55 GiB for each task beyond the first
}
