//go:build slurm

package slurm_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/slurmtest"
	"example.com/colloc/profile"
)

// sweep is tasks that are planned, submitted, and watched until each has run.
type sweep struct {
	t       *testing.T
	cluster *slurmtest.Cluster
	client  *slurm.Client
	planner *colloc.Planner
	log     string // of starts and ends
	body    string // of every task

	tasks []colloc.Task
	where map[site.JobID]slurm.Placed // every job that was ever submitted
	jobs  map[string]site.JobID       // the newest job of each task
	sets  int
}

func newSweep(t *testing.T, c *slurmtest.Cluster, name string, tasks int, seconds float64) *sweep {
	t.Helper()
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &sweep{
		t: t, cluster: c, client: clientOf(c), planner: planner, log: filepath.Join(c.Dir, name+".log"),
		where: map[site.JobID]slurm.Placed{}, jobs: map[string]site.JobID{},
	}
	say := func(what string) string {
		return `echo "` + what + ` $SLURM_JOB_ID $SLURM_JOB_NAME $SLURMD_NODENAME/$CUDA_VISIBLE_DEVICES $EPOCHREALTIME" >>` + s.log + "\n"
	}
	s.body = say("start") + fmt.Sprintf("sleep %g\n", seconds) + say("end")
	for i := range tasks {
		s.tasks = append(s.tasks, trainingTask(t, fmt.Sprint(name, "-", i), i))
	}
	return s
}

// trainingTask is one of four kinds, none of which keeps an A100 busy by itself.
func trainingTask(t *testing.T, id string, i int) colloc.Task {
	t.Helper()
	gpu, ok := profile.LookupGPU("A100-40GB")
	if !ok {
		t.Fatal("no A100 in the catalogue")
	}
	kind := i % 4
	spec := profile.Spec{Model: profile.Model{Name: fmt.Sprint("kind", kind)}, Training: profile.Training{BatchSize: 32}}
	seen := profile.Sample{
		GPUBusy: profile.Some(0.2 + 0.05*float64(kind)), MemBusy: profile.Some(0.1),
		MemUsed: profile.Some(profile.Bytes(4+2*kind) * profile.GiB),
	}
	p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{seen}}, gpu)
	if err != nil {
		t.Fatal(err)
	}
	return colloc.Task{ID: id, Profile: &p}
}

// gpus returns those of nodes that work, as if they were empty: what is
// submitted waits for what runs there.
func (s *sweep) gpus() ([]colloc.GPU, []site.Device) {
	s.t.Helper()
	state, err := s.client.State(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	state.Jobs = nil
	gpus, _ := state.GPUs(&site.GPUOptions{Models: map[string]string{"a100": "A100-40GB"}})
	return gpus, state.Devices()
}

// submit plans tasks onto GPUs and submits one job for each that is placed; the
// others are returned. On every GPU they start when the jobs of before are over.
func (s *sweep) submit(tasks []colloc.Task, gpus []colloc.GPU, devices []site.Device, before map[string][]site.JobID) (left []colloc.Task, placed map[string][]site.JobID) {
	s.t.Helper()
	begin := time.Now()
	plan, err := s.planner.Plan(s.t.Context(), tasks, gpus)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := slurm.Place(plan, devices, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	planned := time.Now()
	s.sets += len(plan.Placements)
	ids := make([]site.JobID, len(list))
	var group errgroup.Group
	group.SetLimit(8)
	for i := range list {
		group.Go(func() error {
			p := &list[i]
			p.Request.Time, p.Request.Output = 20*time.Minute, "/dev/null"
			var err error
			ids[i], err = s.client.Submit(s.t.Context(), &script.Job{Request: p.Request, Body: s.body}, &slurm.SubmitOptions{After: before[p.GPU], Dir: s.cluster.Dir})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
	placed = map[string][]site.JobID{}
	for i, p := range list {
		if !p.Pinned {
			s.t.Fatalf("%+v is not pinned", p)
		}
		s.where[ids[i]], s.jobs[p.Task] = p, ids[i]
		placed[p.GPU] = append(placed[p.GPU], ids[i])
	}
	s.t.Logf("planned %d tasks in %v, submitted them in %v", len(list), planned.Sub(begin).Round(time.Millisecond), time.Since(planned).Round(time.Millisecond))
	left = slices.DeleteFunc(slices.Clone(tasks), func(t colloc.Task) bool { _, ok := s.jobs[t.ID]; return ok })
	return left, placed
}

// submitAll submits as many sets as there are GPUs, and what is left behind
// them, in pairs again.
func (s *sweep) submitAll() {
	s.t.Helper()
	begin := time.Now()
	gpus, devices := s.gpus()
	left, before := s.submit(s.tasks, gpus, devices, nil)
	for len(left) > 0 {
		n := min(len(gpus), (len(left)+1)/2)
		was := len(left)
		left, before = s.submit(left, gpus[:n], devices, before)
		if len(left) == was {
			s.t.Fatalf("the plan places none of %d tasks on %d GPUs", was, n)
		}
	}
	s.t.Logf("%d tasks in %d sets on %d GPUs planned and submitted in %v", len(s.tasks), s.sets, len(gpus), time.Since(begin).Round(time.Millisecond))
}

// recover takes away the jobs that can no longer run where they were planned,
// because the node is down, and plans their tasks anew.
func (s *sweep) recover(nodes ...string) {
	s.t.Helper()
	byID := map[string]colloc.Task{}
	for _, t := range s.tasks {
		byID[t.ID] = t
	}
	jobs, err := s.client.Jobs(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var stuck []site.JobID
	var again []colloc.Task
	for _, j := range jobs {
		p, ours := s.where[j.ID]
		if ours && slices.Contains(nodes, p.Request.NodeList) && j.State != site.Completed {
			stuck, again = append(stuck, j.ID), append(again, byID[p.Task])
			delete(s.jobs, p.Task)
		}
	}
	if len(stuck) == 0 {
		s.t.Fatal("no job was on a node that went down: the test shows nothing")
	}
	if err := s.client.Cancel(s.t.Context(), stuck...); err != nil {
		s.t.Fatal(err)
	}
	gpus, devices := s.gpus()
	if slices.ContainsFunc(gpus, func(g colloc.GPU) bool { node, _, _ := strings.Cut(g.ID, "/"); return slices.Contains(nodes, node) }) {
		s.t.Fatalf("GPUs of %v are still offered", nodes)
	}
	// Behind whatever was submitted before on those GPUs.
	before := map[string][]site.JobID{}
	for id, p := range s.where {
		before[p.GPU] = append(before[p.GPU], id)
	}
	n := len(again)
	for len(again) > 0 {
		was := len(again)
		if again, before = s.submit(again, gpus[:min(len(gpus), (was+1)/2)], devices, before); len(again) == was {
			s.t.Fatalf("the plan places none of %d tasks", was)
		}
	}
	s.t.Logf("%d tasks of %v planned anew on %d GPUs", n, nodes, len(gpus))
}

// wait waits until all tasks are through, looking at the shares as they go.
func (s *sweep) wait() {
	s.t.Helper()
	var ids []site.JobID
	for _, id := range s.jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	begin := time.Now()
	var jobs []site.JobInfo
	slurmtest.AwaitFor(s.t, 5*time.Minute, "all tasks are through", func() bool { // 400 tasks on a machine that does other things, too
		var err error
		jobs, err = look(s.t.Context(), s.client, ids)
		if err != nil && !errors.Is(err, site.ErrNoCluster) {
			s.t.Fatal(err)
		}
		return err == nil && !slices.ContainsFunc(jobs, func(j site.JobInfo) bool { return !j.State.Over() })
	})
	for _, j := range jobs {
		if j.State != site.Completed || j.Exit != 0 {
			s.t.Errorf("%s: %s %s, exit %d", j.Name, j.State, j.Reason, j.Exit)
		}
	}
	s.t.Logf("%d jobs done %v after that", len(ids), time.Since(begin).Round(time.Millisecond))
}

// moment is a start or an end of a task on a GPU.
type moment struct {
	at     float64 // seconds
	task   string
	gpu    string
	shares int // more or fewer
}

// check reads the log of the tasks: each ended once, and where its plan said; no
// GPU ever had more shares in use than it has. It returns how many starts have no
// end.
func (s *sweep) check() (died int) {
	s.t.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	ends := map[string]int{}
	open := map[string]moment{} // by job: starts without their end
	var moments []moment
	for line := range strings.Lines(string(text)) {
		w := strings.Fields(line)
		number, err1 := strconv.ParseInt(w[1], 10, 64)
		at, err2 := strconv.ParseFloat(w[4], 64)
		if err := errors.Join(err1, err2); err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		p, ours := s.where[site.JobID(number)]
		if !ours || w[2] != p.Task || w[3] != p.GPU {
			s.t.Errorf("%q: want task %q on %s", line, p.Task, p.GPU)
		}
		m := moment{at, p.Task, p.GPU, p.Request.Gres[0].Count}
		if w[0] == "start" {
			moments, open[w[1]] = append(moments, m), m
			continue
		}
		ends[p.Task]++
		m.shares = -m.shares
		moments = append(moments, m)
		delete(open, w[1])
	}
	for _, t := range s.tasks {
		if ends[t.ID] != 1 {
			s.t.Errorf("task %s ended %d times, want once", t.ID, ends[t.ID])
		}
	}
	// Those that died with their node never ended: their GPU is gone, too.
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	used, most, shared := map[string]int{}, 0, 0
	for _, m := range moments {
		if used[m.gpu] += m.shares; used[m.gpu] > 8 {
			s.t.Errorf("%s on %s: %d shares of 8 are in use", m.task, m.gpu, used[m.gpu])
		}
		if m.shares > 0 && used[m.gpu] > m.shares {
			shared++
		}
		most = max(most, used[m.gpu])
	}
	s.t.Logf("%d starts, %d of them beside a neighbour, %d never ended; at most %d of 8 shares in use", len(s.tasks)+len(open), shared, len(open), most)
	if shared == 0 {
		s.t.Error("no task ever ran beside another: the test shows nothing")
	}
	return len(open)
}

// TestClusterPlan: 400 tasks in 200 sets on 20 nodes, undisturbed, while a node
// fails, and while the controller restarts.
func TestClusterPlan(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 20, Share: "shard", Pinned: true})
	t.Logf("cluster of 20 nodes started in %v", time.Since(begin).Round(time.Millisecond))
	t.Run("undisturbed", func(t *testing.T) {
		s := newSweep(t, c, "calm", 400, 0.3)
		s.submitAll()
		s.wait()
		s.check()
	})
	t.Run("a node goes down", func(t *testing.T) {
		s := newSweep(t, c, "down", 400, 1)
		s.body = strings.Replace(s.body, "\n", "\n[ $SLURMD_NODENAME != g3 ] || sleep 600\n", 1) // they are in the middle
		s.submitAll()
		slurmtest.Await(t, "some tasks of g3 run", func() bool {
			text, _ := os.ReadFile(s.log)
			return strings.Count(string(text), " g3/") > 3
		})
		c.KillNode("g3")
		c.Run("scontrol", "update", "nodename=g3", "state=down", "reason=test")
		s.recover("g3")
		s.wait()
		if died := s.check(); died == 0 {
			t.Error("no task was killed in the middle: the test shows nothing")
		}
		c.StartNode("g3")
		c.Run("scontrol", "update", "nodename=g3", "state=resume")
		slurmtest.Await(t, "g3 is back", func() bool { return strings.TrimSpace(c.Run("sinfo", "-h", "-n", "g3", "-o", "%T")) == "idle" })
	})
	t.Run("the controller restarts", func(t *testing.T) {
		s := newSweep(t, c, "restart", 400, 5)
		s.submitAll()
		// A launch that the controller decided on and did not send is lost when it
		// stops: Slurm shows such a job as running until its node registers anew.
		slurmtest.Await(t, "every task has started", func() bool {
			text, _ := os.ReadFile(s.log)
			return strings.Count(string(text), "start ") == len(s.tasks)
		})
		c.StopController() // for less than 10 s: after that every job that ends waits for 15 s more
		c.StartController()
		s.wait()
		s.check()
	})
}
