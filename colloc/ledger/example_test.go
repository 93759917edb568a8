package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

// exampleClock stands still so that the examples print the same every time; a
// program passes time.Now.
func exampleClock() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

func exampleTask(id string, reserved profile.Bytes) colloc.Task {
	return colloc.Task{ID: id, Profile: &profile.Profile{}, Reserved: reserved}
}

// alone is a task that was observed on a GPU of its own.
func alone(name string, gpuBusy float64, peak profile.Bytes) colloc.Task {
	gpu, _ := profile.LookupGPU("RTX 3090")
	p, err := profile.New(
		profile.Spec{Model: profile.Model{Name: name}, Training: profile.Training{BatchSize: 64}},
		profile.Trace{Samples: []profile.Sample{{
			GPUBusy: profile.Some(gpuBusy), MemBusy: profile.Some(0.1), MemUsed: profile.Some(peak),
		}}},
		gpu)
	if err != nil {
		panic(err)
	}
	return colloc.Task{ID: name, Profile: &p}
}

func exampleLedger() *ledger.Ledger {
	books, err := ledger.New(ledger.Config{
		GPUs: []colloc.GPU{{ID: "gpu-0", Memory: 40 * profile.GiB}, {ID: "gpu-1", Memory: 40 * profile.GiB}},
		Now:  exampleClock,
	})
	if err != nil {
		panic(err)
	}
	return books
}

// Look, decide, reserve, start, commit; later release.
func ExampleLedger() {
	books := exampleLedger()

	seen := books.Snapshot()
	gpu := seen.GPUs[0].ID // here a scheduler asks Fit, Score or Plan
	lease, err := books.Reserve(seen.Version, ledger.Claim{Task: exampleTask("resnet", 10*profile.GiB), GPU: gpu})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Start the task here; if that fails, books.Rollback(lease).
	if err := books.Commit(lease); err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range books.Snapshot().GPUs[0].Residents {
		fmt.Printf("%s holds %v until it is released; the lease would have run to %s\n", t.ID, t.Reserved, lease.Expires.Format(time.TimeOnly))
	}
	fmt.Println(books.Release("resnet"), len(books.Snapshot().GPUs[0].Residents))
	// Output:
	// resnet holds 10 GiB until it is released; the lease would have run to 12:01:00
	// <nil> 0
}

// Two schedulers decide on the same snapshot. The slower one is refused and
// looks again; it may write elsewhere on the old snapshot.
func ExampleLedger_Reserve_conflict() {
	books := exampleLedger()
	seen := books.Snapshot().Version

	_, err := books.Reserve(seen, ledger.Claim{Task: exampleTask("fast", 10*profile.GiB), GPU: "gpu-0"})
	fmt.Println(err)
	_, err = books.Reserve(seen, ledger.Claim{Task: exampleTask("slow", 10*profile.GiB), GPU: "gpu-0"})
	fmt.Println(errors.Is(err, ledger.ErrConflict), err)
	_, err = books.Reserve(seen, ledger.Claim{Task: exampleTask("slow", 10*profile.GiB), GPU: "gpu-1"})
	fmt.Println(err)
	// Output:
	// <nil>
	// true ledger: reserve: task "slow" on GPU "gpu-0": task "fast" joined after the snapshot; take a new one and decide again
	// <nil>
}

// A gang gets all its GPUs or none.
func ExampleLedger_Reserve_gang() {
	books := exampleLedger()
	gang := []ledger.Claim{
		{Task: exampleTask("llm/0", 30*profile.GiB), GPU: "gpu-0"},
		{Task: exampleTask("llm/1", 37*profile.GiB), GPU: "gpu-1"},
	}
	_, err := books.Reserve(books.Snapshot().Version, gang...)
	fmt.Println(err)
	fmt.Println(len(books.Snapshot().GPUs[0].Residents), "tasks on gpu-0")
	// Output:
	// ledger: reserve: task "llm/1" on GPU "gpu-1": needs 37 GiB, 36 GiB are free
	// 0 tasks on gpu-0
}

// What runs on the cards, registered or not, counts from now on.
func ExampleLedger_Reconcile() {
	books := exampleLedger()
	lease, err := books.Reserve(books.Snapshot().Version, ledger.Claim{Task: exampleTask("resnet", 10*profile.GiB), GPU: "gpu-0"})
	if err == nil {
		err = books.Commit(lease)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range books.Reconcile([]ledger.Usage{
		{GPU: "gpu-0", Processes: []ledger.Process{
			{PID: 4711, Task: "resnet", Memory: profile.Some(12 * profile.GiB)},
			{PID: 4712, Memory: profile.Some(16 * profile.GiB)},
		}},
		{GPU: "gpu-1", Used: profile.Some(2 * profile.GiB)},
	}) {
		fmt.Printf("%v: %s\n", d.Kind, d.Text)
		if d.Kind == ledger.Overuse {
			fmt.Println("where tasks are called jobs:", d.Say("job"))
		}
	}
	_, err = books.Reserve(books.Snapshot().Version, ledger.Claim{Task: exampleTask("bert", 20*profile.GiB), GPU: "gpu-0"})
	fmt.Println(err)
	// Output:
	// foreign: GPU "gpu-0": process 4712, which nobody registered, uses 16 GiB
	// overuse: GPU "gpu-0": task "resnet" uses 12 GiB, 2 GiB more than the 10 GiB it reserved
	// where tasks are called jobs: GPU "gpu-0": job "resnet" uses 12 GiB, 2 GiB more than the 10 GiB it reserved
	// zombie: GPU "gpu-1": 1.5 GiB are in use that no process accounts for
	// ledger: reserve: task "bert" on GPU "gpu-0": needs 20 GiB, 8 GiB are free
}

// A plan becomes reservations: all of them, or none.
func ExampleClaims() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	books, err := ledger.New(ledger.Config{GPUs: []colloc.GPU{{ID: "gpu-0", Model: gpu}}, Now: exampleClock})
	if err != nil {
		fmt.Println(err)
		return
	}
	tasks := []colloc.Task{alone("mobilenet", 0.35, 3*profile.GiB), alone("pointnet", 0.12, 4*profile.GiB)}

	seen := books.Snapshot()
	plan, err := planner.Plan(context.Background(), tasks, seen.GPUs)
	if err != nil {
		fmt.Println(err)
		return
	}
	claims, err := ledger.Claims(plan, tasks)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := books.Reserve(seen.Version, claims...); err != nil {
		fmt.Println(err) // somebody was faster: look and plan again
		return
	}
	for _, t := range books.Snapshot().GPUs[0].Residents {
		fmt.Println(t.ID, t.Reserved)
	}
	// Output:
	// mobilenet 3.06 GiB
	// pointnet 4.08 GiB
}

// A machine fails: its card leaves the books, and what ran there waits again.
func ExampleLedger_RemoveGPU() {
	books, err := ledger.New(ledger.Config{
		GPUs: []colloc.GPU{{ID: "gpu-0", Memory: 40 * profile.GiB}, {ID: "gpu-1", Memory: 40 * profile.GiB}},
		Now:  exampleClock,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	lease, err := books.Reserve(books.Snapshot().Version, ledger.Claim{Task: exampleTask("resnet", 10*profile.GiB), GPU: "gpu-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := books.Commit(lease); err != nil {
		fmt.Println(err)
		return
	}
	gone, err := books.RemoveGPU("gpu-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range gone {
		fmt.Println("waits again:", c.Task.ID)
	}
	err = books.AddGPU(colloc.GPU{ID: "gpu-2", Memory: 80 * profile.GiB})
	fmt.Println(len(books.Snapshot().GPUs), "cards", err)
	// Output:
	// waits again: resnet
	// 2 cards <nil>
}

// place is the loop of a scheduler that decides beside others: look, find the best GPU, reserve, and again
// where another one was quicker. Who is refused for a conflict sees one more task the next time.
func place(books *ledger.Ledger, planner *colloc.Planner, task colloc.Task) (gpu string, err error) {
	for {
		seen := books.Snapshot()
		at, verdict, err := planner.Best(task, seen.GPUs)
		if err != nil {
			return "", err
		}
		if at < 0 {
			return "", fmt.Errorf("it waits: %v", verdict)
		}
		task.Reserved = verdict.Reserved
		lease, err := books.Reserve(seen.Version, ledger.Claim{Task: task, GPU: seen.GPUs[at].ID})
		switch {
		case errors.Is(err, ledger.ErrConflict):
			continue
		case err != nil:
			return "", err
		}
		// Start the task here; if that fails, books.Rollback(lease).
		return seen.GPUs[at].ID, books.Commit(lease)
	}
}

// Who decides beside others looks, asks a planner, reserves, and looks again where it was too late. Tenants
// never share a card.
func ExampleLedger_Reserve() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	books, err := ledger.New(ledger.Config{
		GPUs: []colloc.GPU{{ID: "gpu-0", Model: gpu, Labels: []string{"node-a"}}, {ID: "gpu-1", Model: gpu, Labels: []string{"node-b"}}},
		Now:  exampleClock,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, tenant := range []string{"red", "red", "blue", "green"} {
		task := alone(fmt.Sprint("task-", i), 0.2, 4*profile.GiB)
		task.Labels, task.Only = []string{tenant}, []string{tenant}
		task.On = []string{"RTX3090"} // the product; a node's label would do the same
		if i == 1 {
			task.On = []string{"node-a"}
		}
		on, err := place(books, planner, task)
		fmt.Println(tenant, on, err)
	}
	// Output:
	// red gpu-0 <nil>
	// red gpu-0 <nil>
	// blue gpu-1 <nil>
	// green  it waits: labels: the task and "task-0" do not accept each other; Avoid and Only say which labels they bear
}

// A scheduler that has filtered by node looks at that node's cards alone.
func ExampleLedger_View() {
	books := exampleLedger()
	seen, err := books.View("gpu-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = books.Reserve(seen.Version, ledger.Claim{Task: exampleTask("resnet", 10*profile.GiB), GPU: seen.GPUs[0].ID})
	fmt.Println(len(seen.GPUs), seen.GPUs[0].ID, err)
	_, err = books.View("gpu-7")
	fmt.Println(errors.Is(err, ledger.ErrUnknown))
	// Output:
	// 1 gpu-1 <nil>
	// true
}

// A scheduler restarts and finds two of its tasks on a card that is too small for both:
// it books what is, and nothing is added there until it fits again.
func ExampleLedger_Book() {
	books := exampleLedger()
	err := books.Book(
		ledger.Claim{Task: exampleTask("resnet", 30*profile.GiB), GPU: "gpu-0"},
		ledger.Claim{Task: exampleTask("bert", 20*profile.GiB), GPU: "gpu-0"},
	)
	fmt.Println(err, len(books.Snapshot().GPUs[0].Residents), "tasks")
	_, err = books.Reserve(books.Snapshot().Version, ledger.Claim{Task: exampleTask("vgg", profile.GiB), GPU: "gpu-0"})
	fmt.Println(err)
	// Output:
	// <nil> 2 tasks
	// ledger: reserve: task "vgg" on GPU "gpu-0": needs 1 GiB, 0 B are free
}
