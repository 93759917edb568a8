//go:build slurm

package slurm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/slurmtest"
)

func clientOf(c *slurmtest.Cluster) *slurm.Client {
	return slurm.NewClient(slurm.Config{Runner: slurm.Exec{Conf: c.Conf}})
}

func submit(t *testing.T, c *slurmtest.Cluster, job *script.Job, o *slurm.SubmitOptions) site.JobID {
	t.Helper()
	if o == nil {
		o = &slurm.SubmitOptions{}
	}
	if o.Dir == "" {
		o.Dir = c.Dir
	}
	id, err := clientOf(c).Submit(t.Context(), job, o)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// look returns jobs, those that the controller does not list any more as the accounts have them.
func look(ctx context.Context, client *slurm.Client, ids []site.JobID) ([]site.JobInfo, error) {
	listed, err := client.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	state := site.State{Jobs: listed}
	jobs := make([]site.JobInfo, len(ids))
	for i, id := range ids {
		if j := state.Job(id); j != nil {
			jobs[i] = *j
		} else {
			jobs[i] = client.Ended(ctx, id)[0]
		}
	}
	return jobs, nil
}

// started waits until the jobs run and returns the state then.
func started(t *testing.T, c *slurmtest.Cluster, ids ...site.JobID) *site.State {
	t.Helper()
	slurmtest.Await(t, "all jobs run", func() bool {
		jobs, err := look(t.Context(), clientOf(c), ids)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(jobs, func(j site.JobInfo) bool { return j.State.Over() && j.State != site.Forgotten }); i >= 0 {
			t.Fatalf("a job ended before the others started: %+v", jobs[i])
		}
		return !slices.ContainsFunc(jobs, func(j site.JobInfo) bool { return j.State != site.Running })
	})
	s, err := clientOf(c).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// finished waits until the jobs are over.
func finished(t *testing.T, c *slurmtest.Cluster, ids ...site.JobID) (jobs []site.JobInfo) {
	t.Helper()
	slurmtest.AwaitFor(t, 5*time.Minute, "all jobs are over", func() bool {
		var err error
		jobs, err = look(t.Context(), clientOf(c), ids)
		return err == nil && !slices.ContainsFunc(jobs, func(j site.JobInfo) bool { return !j.State.Over() })
	})
	return jobs
}

// output returns what a job has printed, as soon as that is a line.
func output(t *testing.T, c *slurmtest.Cluster, name string) string {
	t.Helper()
	var text []byte
	slurmtest.Await(t, name+" has a line", func() bool {
		text, _ = os.ReadFile(filepath.Join(c.Dir, name))
		return strings.HasSuffix(string(text), "\n")
	})
	return string(text)
}

// sleeper prints what Slurm tells a task about its GPU, and stays.
func sleeper(gres site.Gres, out string) *script.Job {
	return &script.Job{
		Request: script.Request{Nodes: 1, NodeList: "g1", Gres: []site.Gres{gres}, Time: 20 * time.Minute, Output: out},
		Body:    "echo \"$SLURMD_NODENAME/$CUDA_VISIBLE_DEVICES $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE\"\nexec sleep 600\n", // a busy machine is slow
	}
}

// TestClusterShard: the state that the client computes is what the jobs see.
func TestClusterShard(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Share: "shard", GPUs: 2})
	var ids []site.JobID
	for i := range 3 {
		ids = append(ids, submit(t, c, sleeper(site.Gres{Name: "shard", Count: 4}, fmt.Sprint("out", i)), nil))
	}
	s := started(t, c, ids...)
	want := []site.Device{
		{Node: "g1", Index: 0, Type: "a100", Share: "shard", Shares: 8, Used: 8, Up: true, Jobs: ids[:2]},
		{Node: "g1", Index: 1, Type: "a100", Share: "shard", Shares: 8, Used: 4, Up: true, Jobs: ids[2:]},
		{Node: "g2", Index: 0, Type: "a100", Share: "shard", Shares: 8, Up: true},
		{Node: "g2", Index: 1, Type: "a100", Share: "shard", Shares: 8, Up: true},
	}
	if diff := cmp.Diff(want, s.Devices()); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	for i, want := range []string{"g1/0", "g1/0", "g1/1"} {
		if got := strings.TrimSpace(output(t, c, fmt.Sprint("out", i))); got != want {
			t.Errorf("job %d ran on %q, want %s", ids[i], got, want)
		}
	}
	whole := submit(t, c, &script.Job{Request: script.Request{NodeList: "g1", Nodes: 1, Gres: []site.Gres{{Name: "gpu", Count: 2}}, Time: time.Minute}, Body: "true\n"}, nil)
	if err := clientOf(c).Cancel(t.Context(), ids...); err != nil {
		t.Fatal(err)
	}
	for _, j := range finished(t, c, append(ids, whole)...) {
		if want := site.Cancelled; j.ID == whole && j.State != site.Completed || j.ID != whole && j.State != want {
			t.Errorf("job %d is %s", j.ID, j.State)
		}
	}
}

func TestClusterMPS(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Share: "mps", GPUs: 2})
	ids := []site.JobID{
		submit(t, c, sleeper(site.Gres{Name: "mps", Count: 50}, "out0"), nil),
		submit(t, c, sleeper(site.Gres{Name: "mps", Count: 30}, "out1"), nil),
	}
	devices := started(t, c, ids...).Devices()
	if d := devices[0]; d.Share != "mps" || d.Shares != 100 || d.Used != 80 || d.Free() != 20 {
		t.Errorf("g1/0 is %+v, want 80 of 100 in use", d)
	}
	if a, b := output(t, c, "out0"), output(t, c, "out1"); a != "g1/0 50\n" || b != "g1/0 30\n" {
		t.Errorf("the jobs saw %q and %q, want g1/0 with 50 and 30 %%", a, b)
	}
}

func TestClusterErrors(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Share: "shard", Pinned: true})
	client := clientOf(c)
	jobs := map[string]script.Request{
		"partition": {Partition: "nope"},
		"GPU type":  {Gres: []site.Gres{{Name: "shard", Type: "h100", Count: 1}}},
		"shares":    {Gres: []site.Gres{{Name: "shard", Type: "a100i1", Count: 9}}},
		"gres":      {Gres: []site.Gres{{Name: "mps", Count: 1}}},
		"feature":   {Constraint: "h100"},
		"node":      {NodeList: "g99"},
		"memory":    {Memory: 1 << 40},
	}
	for name, r := range jobs {
		want := site.ErrImpossible
		if name == "partition" {
			want = site.ErrPartition
		}
		var e *site.Error
		_, err := client.Submit(t.Context(), &script.Job{Request: r, Body: "true\n"}, nil)
		if !errors.Is(err, want) || !errors.As(err, &e) || e.Command != "sbatch --parsable" || e.Said == "" {
			t.Errorf("%s: got %v, want %v with sbatch and its words", name, err, want)
		}
	}
	// More nodes than there are: Slurm takes it and lets it wait for ever. Test tells.
	patient := &script.Job{Request: script.Request{Nodes: 3, Time: time.Minute}, Body: "true\n"}
	if _, err := client.Test(t.Context(), patient, nil); !errors.Is(err, site.ErrImpossible) {
		t.Errorf("three nodes of two: got %v, want ErrImpossible", err)
	}
	possible := &script.Job{Request: script.Request{NodeList: "g2", Gres: []site.Gres{{Name: "shard", Type: "a100i1", Count: 4}}, Time: time.Minute}, Body: "true\n"}
	if f, err := client.Test(t.Context(), possible, nil); err != nil || !slices.Equal(f.Nodes, []string{"g2"}) || f.Partition != "main" || f.Start.IsZero() {
		t.Errorf("got %+v, %v; want a start on g2", f, err)
	}
	held := submit(t, c, possible, &slurm.SubmitOptions{Hold: true})
	after := submit(t, c, possible, &slurm.SubmitOptions{After: []site.JobID{held}})
	if j, err := look(t.Context(), client, []site.JobID{held}); err != nil || j[0].State != site.Pending || j[0].Reason != "JobHeldUser" {
		t.Errorf("got %+v, %v; want a job that is held", j, err)
	}
	if err := client.Release(t.Context(), held); err != nil {
		t.Error(err)
	}
	if done := finished(t, c, held, after); done[0].State != site.Completed || done[1].Started.Before(done[0].Ended) {
		t.Errorf("got %+v, want the second after the first", done)
	}
	if j, err := look(t.Context(), client, []site.JobID{4711}); err != nil || j[0].State != site.Forgotten {
		t.Errorf("got %+v, %v; want a job that nobody knows", j, err)
	}
	mine := submit(t, c, sleeper(site.Gres{Name: "gpu", Count: 1}, "out"), nil)
	t.Run("of another user", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can be another user")
		}
		stranger := slurm.NewClient(slurm.Config{Runner: nobody{c}})
		if err := stranger.Cancel(t.Context(), mine); !errors.Is(err, site.ErrPermission) {
			t.Errorf("got %v, want ErrPermission", err)
		}
	})
	c.StopController()
	_, listed := client.Jobs(t.Context())
	_, nodes := client.Nodes(t.Context())
	_, partitions := client.Partitions(t.Context())
	_, defaults := client.Defaults(t.Context())
	for what, err := range map[string]error{"jobs": listed, "nodes": nodes, "partitions": partitions, "defaults": defaults} {
		if !errors.Is(err, site.ErrNoCluster) {
			t.Errorf("%s, and the controller is down: got %v, want ErrNoCluster", what, err)
		}
	}
	c.StartController()
}

// nobody runs commands as the user of that name.
type nobody struct{ c *slurmtest.Cluster }

func (n nobody) Run(ctx context.Context, cmd slurm.Command) (slurm.Output, error) {
	run := n.c.Command(ctx, cmd.Args...)
	run.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	text, err := run.CombinedOutput()
	var status *exec.ExitError
	if errors.As(err, &status) {
		return slurm.Output{Stderr: text, Code: status.ExitCode()}, nil
	}
	return slurm.Output{Stdout: text}, err
}

// TestClusterREST: what slurmrestd says is what the commands say.
func TestClusterREST(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Share: "shard", Pinned: true})
	rest := slurm.NewClient(slurm.Config{
		Runner: slurm.Exec{Conf: c.Conf}, REST: &slurm.REST{Address: "unix:" + c.StartREST()},
	})
	job := sleeper(site.Gres{Name: "shard", Type: "a100i5", Count: 3}, "/dev/null")
	job.Request.Name, job.Request.Comment, job.Request.Memory = "x", "colloc:x", 200<<20
	id, err := rest.Submit(t.Context(), job, nil)
	if err != nil {
		t.Fatal(err)
	}
	held, err := rest.Submit(t.Context(), job, &slurm.SubmitOptions{Hold: true, After: []site.JobID{id}, Dir: c.Dir})
	if err != nil {
		t.Fatal(err)
	}
	want := started(t, c, id)
	got, err := rest.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Partitions, got.Partitions); diff != "" {
		t.Errorf("partitions (-commands +slurmrestd):\n%s", diff)
	}
	if diff := cmp.Diff(want.Devices(), got.Devices()); diff != "" {
		t.Errorf("devices (-commands +slurmrestd):\n%s", diff)
	}
	if d := got.Devices()[5]; d.Used != 3 || !slices.Equal(d.Jobs, []site.JobID{id}) {
		t.Errorf("g1/5 is %+v, want 3 shares of job %d", d, id)
	}
	for _, j := range got.Jobs {
		if j.Name != "x" || j.Comment != "colloc:x" || j.Limit != job.Request.Time || j.Memory != 200<<20 {
			t.Errorf("got %+v, want what was asked for", j)
		}
	}
	if err := rest.Cancel(t.Context(), id, held, 4711); err != nil {
		t.Error(err)
	}
	for _, j := range finished(t, c, id, held) {
		if j.State != site.Cancelled {
			t.Errorf("got %+v, want a job that was cancelled", j)
		}
	}
	nowhere := &script.Job{Request: script.Request{Partition: "nope"}, Body: "true\n"}
	if _, err := rest.Submit(t.Context(), nowhere, nil); !errors.Is(err, site.ErrPartition) || !strings.Contains(err.Error(), "POST job/submit") {
		t.Errorf("got %v, want ErrPartition that names the request", err)
	}
	// Nothing of all this can be reached from another machine.
	listeners := c.Listeners()
	if len(listeners) < 3 {
		t.Errorf("listeners %v, want at least slurmctld and two slurmd", listeners)
	}
	for _, l := range listeners {
		if !strings.HasPrefix(l, "0100007F:") {
			t.Errorf("something listens on %s, which is not 127.0.0.1", l)
		}
	}
}

// TestRecorded: the golden files have the fields that the installed Slurm
// prints today.
func TestRecorded(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Share: "shard", Pinned: true})
	if !strings.Contains(c.Run("sinfo", "--version"), "22.05") {
		t.Skip("the golden files are of 22.05, this is ", c.Run("sinfo", "--version"))
	}
	started(t, c, submit(t, c, sleeper(site.Gres{Name: "shard", Type: "a100i1", Count: 4}, "/dev/null"), nil))
	for _, g := range []struct{ command, file, list string }{{"squeue", "squeue.json", "jobs"}, {"sinfo", "sinfo.json", "nodes"}} {
		text, err := os.ReadFile(filepath.Join("site", "testdata", "22.05", g.file))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fields(t, text, g.list), fields(t, []byte(c.Run(g.command, "--json")), g.list)); diff != "" {
			t.Errorf("%s (-golden +now):\n%s", g.file, diff)
		}
	}
}

// fields returns the names and kinds of the first record of a list.
func fields(t *testing.T, text []byte, list string) map[string]string {
	t.Helper()
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	records, _ := answer[list].([]any)
	if len(records) == 0 {
		t.Fatalf("no %s in %s", list, text)
	}
	first, _ := records[0].(map[string]any)
	kinds := map[string]string{}
	for name, v := range first {
		kinds[name] = fmt.Sprintf("%T", v)
	}
	return kinds
}

// TestClusterRestart: what runs is known after slurmctld has restarted, to the
// client as before. Slurm 22.05 itself forgets: it gives a GPU's shares away a
// second time, which is why a plan's jobs wait for one another by After.
func TestClusterRestart(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, Share: "shard", Pinned: true})
	full := sleeper(site.Gres{Name: "shard", Type: "a100i2", Count: 8}, "/dev/null")
	first := submit(t, c, full, nil)
	before := started(t, c, first).Devices()
	c.StopController()
	c.StartController()
	var after []site.Device
	slurmtest.Await(t, "the node has registered again", func() bool { // until then it offers no shares at all
		s, err := clientOf(c).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		after = s.Devices()
		if after[2].Free() != 0 {
			t.Fatalf("after the restart %+v is free", after[2])
		}
		return after[0].Shares > 0
	})
	if diff := cmp.Diff(before, after); diff != "" || before[2].Used != 8 {
		t.Errorf("devices (-before +after the restart):\n%s", diff)
	}
	second := submit(t, c, full, nil)
	third := submit(t, c, full, &slurm.SubmitOptions{After: []site.JobID{first}})
	var jobs []site.JobInfo
	slurmtest.Await(t, "Slurm has looked at the jobs", func() bool {
		var err error
		jobs, err = look(t.Context(), clientOf(c), []site.JobID{second, third})
		return err == nil && (jobs[0].State == site.Running || jobs[0].Reason == "Resources" || jobs[0].Reason == "Priority")
	})
	t.Logf("a second job with all 8 shares of the same GPU is %s %s", jobs[0].State, jobs[0].Reason)
	if j := jobs[1]; j.State != site.Pending || j.Reason != "Dependency" {
		t.Errorf("the job that comes after the first is %+v", j)
	}
}
