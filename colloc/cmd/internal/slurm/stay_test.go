package slurm

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/race"
)

// world is a Slurm that has nodes with GPUs of eight shards each, starts what fits in
// the order of its queue, forgets what is over, and fails as real ones do. Time passes
// with each look at the queue.
type world struct {
	t     *testing.T
	mu    sync.Mutex
	rnd   *rand.Rand
	user  string
	nodes int
	gpus  int
	share bool

	jobs     []*worldJob
	ends     map[string]int  // of each task, with 0
	broken   map[string]bool // tasks that fail the first time
	hopeless map[string]bool // tasks that always fail
	drained  map[string]bool
	calls    int
	first    int // calls before the command that is at work
	until    int // calls until everything ends
	cancel   context.CancelFunc
	quiet    bool // no faults
	addAt    int  // calls until a task is added, and one goes
	turned   int  // jobs that got no GPU
	again    int  // jobs that were put back for it
	starts   int
	beside   int
}

type worldJob struct {
	id      int
	comment string
	state   string
	held    bool
	node    string // wanted
	gpu     int    // wanted; -1 is any
	shares  int    // 8 is all of a GPU
	tasks   []string
	at      string
	index   int
	left    int // ticks
	age     int // ticks since it is over
	again   int // how often it was put back
	foreign bool
}

func (w *world) used(node string, index int) (shares int) {
	for _, j := range w.jobs {
		if j.state == "RUNNING" && j.at == node && j.index == index {
			shares += j.shares
		}
	}
	return shares
}

// tick starts what fits, and ends what is through.
func (w *world) tick() {
	for _, j := range w.jobs {
		switch {
		case j.state == "RUNNING":
			if j.left--; j.left <= 0 {
				w.finish(j)
			}
		case j.state != "PENDING":
			j.age++
		}
	}
	for _, j := range w.jobs {
		if j.state == "PENDING" && !j.held {
			w.start(j)
		}
	}
}

func (w *world) start(j *worldJob) {
	for n := range w.nodes {
		node := fmt.Sprintf("g%d", n+1)
		if w.drained[node] || j.node != "" && j.node != node {
			continue
		}
		for i := range w.gpus {
			if j.gpu >= 0 && j.gpu != i || w.used(node, i)+j.shares > 8 {
				continue
			}
			if !w.quiet && !j.foreign && w.rnd.IntN(2) == 0 {
				w.turnAway(j, node)
				return
			}
			j.state, j.at, j.index, j.left = "RUNNING", node, i, 1+w.rnd.IntN(6)
			if w.used(node, i) > j.shares {
				w.beside++
			}
			w.starts++
			for _, t := range j.tasks {
				if w.ends[t] > 0 {
					w.t.Errorf("%s was done, and starts again in job %d", t, j.id)
				}
				for _, o := range w.jobs {
					if o != j && o.state == "RUNNING" && slices.Contains(o.tasks, t) {
						w.t.Errorf("%s runs in jobs %d and %d", t, o.id, j.id)
					}
				}
			}
			return
		}
	}
}

// turnAway starts a job without its GPU, as slurmctld does when it has forgotten which
// shares are in use.
func (w *world) turnAway(j *worldJob, node string) {
	w.turned++
	j.state, j.at, j.left = "FAILED", node, 0
	w.write(j, "colloc: GPUs needed: 1, CUDA_VISIBLE_DEVICES is ''\n")
}

// write is what the script of a job says.
func (w *world) write(j *worldJob, text string) {
	if err := os.WriteFile(filepath.Join("logs", fmt.Sprintf("colloc-%d.out", j.id)), []byte(text), 0o644); err != nil {
		w.t.Error(err)
	}
}

func (w *world) finish(j *worldJob) {
	j.state = "COMPLETED"
	var out strings.Builder
	for _, t := range j.tasks {
		code := 0
		if w.broken[t] || w.hopeless[t] {
			code, j.state = 3, "FAILED"
			delete(w.broken, t)
		} else {
			w.ends[t]++
		}
		fmt.Fprintf(&out, "colloc: exit %d: %s\n", code, t)
	}
	if !j.foreign {
		w.write(j, out.String())
	}
}

var headerLine = regexp.MustCompile(`(?m)^#SBATCH --([a-z-]+)=(.*)$`)

func (w *world) submit(script string) int {
	j := &worldJob{id: len(w.jobs) + 1, state: "PENDING", gpu: -1}
	for _, m := range headerLine.FindAllStringSubmatch(script, -1) {
		switch m[1] {
		case "comment":
			j.comment = m[2]
			j.tasks = slurm.TasksOf(&site.JobInfo{Comment: m[2]})
		case "nodelist":
			j.node = m[2]
		case "gres":
			f := strings.Split(m[2], ":")
			j.shares = 8
			if f[0] == "shard" {
				j.shares, _ = strconv.Atoi(f[len(f)-1])
			}
			if _, index, named := strings.Cut(f[1], "i"); named {
				j.gpu, _ = strconv.Atoi(index)
			}
		}
	}
	w.jobs = append(w.jobs, j)
	return j.id
}

func (j *worldJob) gres(index int) string {
	kind := "shard"
	if j.shares == 8 {
		kind = "gpu"
		return fmt.Sprintf("%s:a100i%d:1(IDX:%d)", kind, index, index)
	}
	return fmt.Sprintf("%s:a100i%d:%d(IDX:%d)", kind, index, j.shares, index)
}

func (w *world) squeue() string {
	w.tick()
	var list []string
	for _, j := range w.jobs {
		if j.age > 4 { // MinJobAge
			continue
		}
		text := fmt.Sprintf(`{"job_id": %d, "user_name": %q, "job_state": %q, "comment": %q`, j.id, w.user, j.state, j.comment)
		switch {
		case j.held:
			text += `, "state_reason": "JobHeldUser"`
		case j.state == "PENDING":
			text += `, "state_reason": "Resources"`
		}
		if j.again > 0 {
			text += fmt.Sprintf(`, "restart_cnt": %d`, j.again)
		}
		if j.node != "" {
			text += fmt.Sprintf(`, "required_nodes": %q`, j.node)
		}
		if j.at != "" {
			text += fmt.Sprintf(`, "nodes": %q, "start_time": 100, "end_time": 200`, j.at)
		}
		if j.state == "RUNNING" {
			text += fmt.Sprintf(`, "gres_detail": [%q]`, j.gres(j.index))
		}
		list = append(list, text+"}")
	}
	return `{"jobs": [` + strings.Join(list, ",") + `]}`
}

func (w *world) sinfo() string {
	var list []string
	for n := range w.nodes {
		name, state := fmt.Sprintf("g%d", n+1), `"idle"`
		if w.drained[name] {
			state = `"idle", "state_flags": ["DRAIN"]`
		}
		var gres []string
		for i := range w.gpus {
			gres = append(gres, fmt.Sprintf("gpu:a100i%d:1", i))
		}
		for i := range w.gpus {
			if w.share {
				gres = append(gres, fmt.Sprintf("shard:a100i%d:8", i))
			}
		}
		list = append(list, fmt.Sprintf(`{"name": %q, "state": %s, "partitions": ["main"], "gres": %q, "cpus": 64, "real_memory": 64000}`, name, state, strings.Join(gres, ",")))
	}
	return `{"nodes": [` + strings.Join(list, ",") + `]}`
}

func (w *world) Run(_ context.Context, c slurm.Command) (slurm.Output, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fault := slurm.Output{Stderr: []byte(c.Args[0] + ": error: Unable to contact slurm controller (connect failure)\n"), Code: 1}
	if w.calls++; w.calls == w.until {
		w.cancel()
	}
	if w.calls == w.addAt {
		w.change()
	}
	luck := w.rnd.IntN(100)
	if c.Args[0] == "sbatch" && luck >= 95 && !w.quiet { // nodes that have not registered yet
		return slurm.Output{Stderr: []byte("sbatch: error: Batch job submission failed: Requested node configuration is not available\n"), Code: 1}, nil
	}
	if luck < 4 && !w.quiet {
		return fault, nil // nothing happened
	}
	out := w.do(c)
	switch {
	case luck < 8 && !w.quiet:
		return fault, nil // it happened, and nobody heard of it
	case luck < 10 && !w.quiet && w.calls > w.first+3 && (c.Args[0] == "squeue" || c.Args[0] == "sinfo"): // half an answer
		out.Stdout = out.Stdout[:len(out.Stdout)/2]
	}
	return out, nil
}

func (w *world) do(c slurm.Command) slurm.Output {
	said := func(s string) slurm.Output { return slurm.Output{Stdout: []byte(s)} }
	named := func() (list []*worldJob) {
		for _, a := range c.Args[1:] {
			if id, err := strconv.Atoi(a); err == nil && id >= 1 && id <= len(w.jobs) {
				list = append(list, w.jobs[id-1])
			}
		}
		return list
	}
	switch c.Args[0] {
	case "squeue":
		return said(w.squeue())
	case "sinfo":
		return said(w.sinfo())
	case "sacct":
		return slurm.Output{Stderr: []byte("Slurm accounting storage is disabled\n"), Code: 1}
	case "sbatch":
		return said(fmt.Sprintln(w.submit(c.Input)))
	case "scancel":
		for _, j := range named() {
			if j.state == "PENDING" || j.state == "RUNNING" {
				j.state = "CANCELLED"
			}
		}
	case "scontrol":
		if c.Args[1] == "show" {
			return said("PartitionName=main Default=YES State=UP\n")
		}
		for _, j := range named() {
			switch {
			case c.Args[1] == "requeue" && j.id%5 > 0 && j.age <= 4: // some may not be put back
				j.state, j.at, j.age, j.again = "PENDING", "", 0, j.again+1
				w.again++
			case j.state != "PENDING" && j.state != "RUNNING":
				return slurm.Output{Stderr: []byte("Job/step already completing or completed\n"), Code: 1}
			case j.state == "PENDING":
				j.held = c.Args[1] == "hold"
			}
		}
	}
	return slurm.Output{}
}

// change adds two tasks to the sweep while a command is at work.
func (w *world) change() {
	var out, errs bytes.Buffer
	p := &program{stdout: &out, stderr: &errs}
	args := []string{"add", "-gpu", "A100-40GB", "-used", "7GiB", "-busy", "0.3", "-f", "more.txt", "sweep.json"}
	if err := os.WriteFile("more.txt", []byte("x 12\nx 13\n"), 0o644); err != nil {
		w.t.Error(err)
	}
	if code := p.run(context.Background(), args); code != 0 {
		w.t.Errorf("add: exit status %d: %s", code, &errs)
	}
}

// TestStay: whatever fails, and however often the command ends and begins again, each
// task ends well once, but for those that were cancelled or always fail.
func TestStay(t *testing.T) {
	seeds := 12
	if race.Enabled {
		seeds = 4
	}
	if n, err := strconv.Atoi(os.Getenv("COLLOC_SLURM_SEEDS")); err == nil { // some 400 take minutes
		seeds = n
	}
	beside, turned, again := 0, 0, 0
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := stayOnce(t, uint64(seed))
			beside, turned, again = beside+w.beside, turned+w.turned, again+w.again
		})
	}
	if beside == 0 || turned == 0 || again == 0 {
		t.Error("no job ever joined another, or was turned away, or got its place back: the test shows nothing")
	}
}

func stayOnce(t *testing.T, seed uint64) *world {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(seed, 24))
	w := &world{
		t: t, rnd: rnd, user: me.Username, nodes: 2, gpus: 1 + rnd.IntN(2), share: seed%4 != 3,
		ends: map[string]int{}, broken: map[string]bool{}, hopeless: map[string]bool{}, drained: map[string]bool{},
	}
	const begin, tasks = 12, 14 // two are added
	var list []string
	name := func(i int) string {
		if i < begin {
			return fmt.Sprintf("t%d", i)
		}
		return fmt.Sprintf("line-%d", 1+i-begin)
	}
	for i := range tasks {
		id := name(i)
		if i < begin {
			list = append(list, fmt.Sprintf(`{"id": %q, "command": ["x"], "model": {"name": "m%d"}, "training": {"batch_size": 8}, "solo": {"gpu": "A100-40GB", "gpu_busy": 0.3, "mem_busy": 0.1, "mem_used": "%dGiB"}}`, id, i%3, 6+i%3))
		}
		w.broken[id], w.hopeless[id] = rnd.IntN(6) == 0, rnd.IntN(12) == 0
	}
	w.addAt = 10 + rnd.IntN(60)
	if err := os.WriteFile("sweep.json", []byte(`{"name": "s", "models": {"a100": "A100-40GB"}, "log_dir": "logs", "tasks": [`+strings.Join(list, ",")+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 1 + rnd.IntN(3) { // strangers
		w.jobs = append(w.jobs, &worldJob{id: len(w.jobs) + 1, state: "PENDING", gpu: -1, shares: 8, foreign: true, comment: "else"})
	}
	var victim string // somebody cancels a job
	var code int
	var log strings.Builder
	for round := 0; ; round++ { // the last one is not ended from outside
		ctx, cancel := context.WithCancel(t.Context())
		w.cancel, w.first, w.until = cancel, w.calls, w.calls+20+rnd.IntN(60)
		if round == 6 {
			w.until, w.quiet = -1, true
		}
		w.drained["g2"] = round == 2 || round == 3
		var out bytes.Buffer
		p := &program{client: slurm.NewClient(slurm.Config{Runner: w}), stdout: &out, stderr: &out, every: time.Millisecond, slowest: time.Millisecond}
		code = p.run(ctx, []string{"submit", "-sweep", "sweep.json", "-wait"})
		cancel()
		fmt.Fprintf(&log, "--- round %d, exit status %d\n%s", round, code, out.String())
		if round == 6 {
			break
		}
		for _, j := range w.jobs {
			if victim == "" && round == 4 && (j.state == "PENDING" || j.state == "RUNNING") && !j.foreign && !j.held {
				victim, j.state = j.tasks[0], "CANCELLED"
				for _, task := range j.tasks {
					w.hopeless[task] = true
				}
			}
		}
	}
	if w.calls < w.addAt {
		t.Fatalf("%d calls: nothing was added after %d", w.calls, w.addAt)
	}
	bad := 0
	for i := range tasks {
		id := name(i)
		want := 1
		if w.hopeless[id] {
			want, bad = w.ends[id], bad+1 // a cancelled one may have been done in another job
		}
		if w.ends[id] != want || w.ends[id] > 1 {
			t.Errorf("%s ended %d times, want %d", id, w.ends[id], want)
		}
	}
	if want := min(bad, 1); code != want {
		t.Errorf("exit status %d, want %d", code, want)
	}
	if t.Failed() {
		t.Log(log.String())
	}
	return w
}
