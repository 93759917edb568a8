//go:build linux

package station

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/internal/testbed"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Two users that own nothing else.
const ann, bob = 54321, 54322

// asked is a request that a client of another user is to send, answered what it got.
type asked struct {
	Method, Path string
	Body         json.RawMessage
}
type answered struct {
	Status int
	Text   string
}

// fewFiles is the method of a request to the client itself: to have 50 open files, and 60 at most.
const fewFiles = "FEW FILES"

// noConnection is the method of one to have no connection until the next.
const noConnection = "NO CONNECTION"

// beClient sends requests to a station as whoever this process is: it reads them from
// standard input, and writes the answers, until there are no more.
func beClient(socket string) int {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var a asked
		if in.Decode(&a) != nil {
			return 0
		}
		if a.Method == noConnection {
			transport.CloseIdleConnections()
			if out.Encode(answered{}) != nil {
				return 1
			}
			continue
		}
		if a.Method == fewFiles {
			text := ""
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 50, Max: 60}); err != nil {
				text = err.Error()
			}
			if out.Encode(answered{0, text}) != nil {
				return 1
			}
			continue
		}
		r, err := http.NewRequest(a.Method, "http://station"+a.Path, bytes.NewReader(a.Body))
		var answer *http.Response
		if err == nil {
			answer, err = transport.RoundTrip(r)
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(answer.Body)
			err = errors.Join(err, answer.Body.Close())
		}
		if err == nil {
			err = out.Encode(answered{answer.StatusCode, string(text)})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// client is a process of a user that sends requests.
type client struct {
	to   *json.Encoder
	from *json.Decoder
}

// client starts the process of a user, who is in group 777 too.
func (g *rig) client(tb testing.TB, uid uint32) *client {
	tb.Helper()
	c := exec.Command("/proc/self/exe", "as-client", filepath.Join(g.dir, "s"))
	c.Dir, c.Stderr = "/", os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{777}}}
	in, err := c.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(in.Close(), c.Wait()); err != nil {
			tb.Error(err)
		}
	})
	return &client{json.NewEncoder(in), json.NewDecoder(out)}
}

// as sends a request as a user, and returns status and answer.
func (g *rig) as(tb testing.TB, uid uint32, method, path string, body any) (int, string) {
	tb.Helper()
	c := g.clients[uid]
	if c == nil {
		c = g.client(tb, uid)
		if g.clients == nil {
			g.clients = make(map[uint32]*client)
		}
		g.clients[uid] = c
	}
	text, err := json.Marshal(body)
	var answer answered
	if err == nil {
		err = c.to.Encode(asked{method, path, text})
	}
	if err == nil {
		err = c.from.Decode(&answer)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return answer.Status, answer.Text
}

// addAs submits tasks as a user.
func (g *rig) addAs(tb testing.TB, uid uint32, tasks ...api.Task) []string {
	tb.Helper()
	code, text := g.as(tb, uid, http.MethodPost, "/v1/jobs", api.Submission{Tasks: tasks})
	var ids api.IDs
	if err := json.Unmarshal([]byte(text), &ids); err != nil || code != http.StatusOK {
		tb.Fatalf("status %d: %s", code, text)
	}
	return ids.IDs
}

// lab is a station for all users.
func lab(tb testing.TB, gpus int, adjust func(*Config)) *rig {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("only root may run tasks as other users")
	}
	return newRig(tb, labFolder(tb), gpus, func(c *Config) {
		c.Everybody = true
		if adjust != nil {
			adjust(c)
		}
	})
}

// labFolder is a folder that users may pass through, with one of each user's own.
func labFolder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "lab")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, uid := range []int{ann, bob} {
		home := filepath.Join(dir, strconv.Itoa(uid))
		if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, uid, uid)); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// home is the folder of a user.
func (g *rig) home(uid int) string { return filepath.Join(g.dir, strconv.Itoa(uid)) }

// A job runs as who submits it: user, groups, folder, umask, limits and environment, with
// nothing of the daemon's.
func TestAsUser(t *testing.T) {
	t.Setenv("STATION_SECRET", "the daemon's")
	g := lab(t, 1, nil)
	task := shell(g.home(ann), `id -u; id -g; id -G; umask; pwd; ulimit -n; echo "$MINE $STATION_SECRET $LD_LIBRARY_PATH"; echo made >made; echo made; exec sleep 1000`)
	task.Env = append(task.Env, "MINE=mine", "LD_LIBRARY_PATH=/nowhere", "COLLOC_TESTBED="+os.Getenv("COLLOC_TESTBED"))
	task.Umask, task.Limits = profile.Some(uint32(0o027)), map[string]api.Limit{"nofile": {Soft: 77, Hard: 88}}
	id := g.addAs(t, ann, task)[0]
	g.running(t, id)
	record, _ := g.runner.Record(id)
	stat := strings.Fields(read1(t, fmt.Sprintf("/proc/%d/stat", record.PID)))
	if env := read1(t, "/proc/"+stat[3]+"/environ"); strings.Contains(env, "LD_LIBRARY_PATH") || strings.Contains(env, "mine") {
		t.Errorf("the supervisor, which is root, has the user's environment: %q", env)
	}
	want := "54321\n54321\n54321 777\n0027\n" + g.home(ann) + "\n77\nmine  /nowhere\nmade\n"
	got := ""
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Minute); !strings.HasSuffix(got, "made\n") && time.Now().Before(end); <-tick.C {
		got = g.output(t, id, false)
	}
	info, err := os.Stat(filepath.Join(g.home(ann), "made"))
	if err != nil {
		t.Fatalf("%v; it printed %q", err, got)
	}
	if got != want {
		t.Errorf("it printed %q, want %q", got, want)
	}
	if owner := ownerOf(info); owner != ann || info.Mode().Perm() != 0o640 {
		t.Errorf("its file has mode %v and owner %d", info.Mode(), owner)
	}
	log, err := os.Stat(record.Log)
	if err != nil || ownerOf(log) != ann || log.Mode().Perm() != 0o600 {
		t.Errorf("its log: %+v, %v; want the user's alone", log, err)
	}
	if code, text := g.as(t, ann, http.MethodPost, "/v1/jobs/cancel", api.IDs{IDs: []string{id}}); code != http.StatusOK {
		t.Errorf("its user cannot cancel it: %d %s", code, text)
	}
	if j := g.over(t, id)[0]; j.State != runner.Cancelled || j.User != "54321" {
		t.Errorf("it is %+v", j)
	}
}

// A job has no more than the limits of the process that submits it, and those where it tells none.
func TestAsLimited(t *testing.T) {
	g := lab(t, 1, nil)
	if _, text := g.as(t, ann, fewFiles, "", nil); text != "" {
		t.Fatal(text)
	}
	task := shell("/", `ulimit -n; ulimit -H -n`)
	for _, tt := range []struct {
		limits map[string]api.Limit
		want   string // empty if it is refused
	}{
		{nil, "50\n60\n"},
		{map[string]api.Limit{"core": {}}, "50\n60\n"},
		{map[string]api.Limit{"nofile": {Soft: 30, Hard: 40}}, "30\n40\n"},
		{map[string]api.Limit{"nofile": {Soft: 30, Hard: 61}}, ""},
		{map[string]api.Limit{"nofile": {Soft: -1, Hard: -1}}, ""},
	} {
		task.Limits = tt.limits
		code, text := g.as(t, ann, http.MethodPost, "/v1/jobs", api.Submission{Tasks: []api.Task{task}})
		if tt.want == "" {
			if code != http.StatusForbidden || !strings.Contains(text, "nofile") {
				t.Errorf("%v: status %d: %s", tt.limits, code, text)
			}
			continue
		}
		var ids api.IDs
		if err := json.Unmarshal([]byte(text), &ids); err != nil || len(ids.IDs) != 1 {
			t.Fatalf("%v: status %d: %s", tt.limits, code, text)
		}
		g.over(t, ids.IDs...)
		if got := g.output(t, ids.IDs[0], false); got != tt.want {
			t.Errorf("%v: it has %q, want %q", tt.limits, got, tt.want)
		}
	}
}

// ownerOf is whose a file is.
func ownerOf(info os.FileInfo) uint32 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Uid
}

func read1(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// binary is this program where all users may run it.
func (g *rig) binary(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(g.dir, "helper")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = testbed.Program(path, text)
	}
	if err = errors.Join(err, os.Chmod(path, 0o755)); err != nil { // whatever the umask
		tb.Fatal(err)
	}
	return path
}

// Nobody sees another's command, folder or output, nor ends or signals another's job, nor
// reads what the daemon knows; a command that is not there is told to its user.
func TestApart(t *testing.T) {
	g := lab(t, 2, nil)
	own := shell(g.home(ann), "echo secret; exec sleep 1000")
	own.Env, own.Kind = append(own.Env, "COLLOC_TESTBED="+os.Getenv("COLLOC_TESTBED")), "python secret.py"
	id := g.addAs(t, ann, own)[0]
	g.running(t, id)
	record, _ := g.runner.Record(id)
	for _, verb := range []string{"cancel", "hold", "release", "requeue"} {
		if code, text := g.as(t, bob, http.MethodPost, "/v1/jobs/"+verb, api.IDs{IDs: []string{id}}); code != http.StatusForbidden {
			t.Errorf("%s of another's job: %d %s", verb, code, text)
		}
	}
	for _, path := range []string{"/v1/jobs", "/v1/jobs/" + id, "/v1/state", "/v1/wait?id=" + id + "&timeout=1ms"} {
		if code, text := g.as(t, bob, http.MethodGet, path, nil); code != http.StatusOK || strings.Contains(text, "secret") || strings.Contains(text, g.home(ann)) || !strings.Contains(text, "54321") {
			t.Errorf("%s shows another user: %d %s", path, code, text)
		}
	}
	if code, text := g.as(t, bob, http.MethodGet, "/v1/jobs/"+id+"/log", nil); code != http.StatusForbidden {
		t.Errorf("another user reads the output: %d %s", code, text)
	}
	if code, _ := g.as(t, ann, http.MethodPost, "/v1/gpus/drain", api.GPURequest{}); code != http.StatusForbidden {
		t.Errorf("a user drains the station: %d", code)
	}
	state := filepath.Join(g.dir, "state")
	attack := fmt.Sprintf(`cat %[1]s && echo read; echo x >>%[1]s && echo wrote; rm -f %[1]s && test ! -e %[1]s && echo removed; ls %[2]s %[3]s && echo listed
cat %[2]s/queue.db %[2]s/lock && echo read; kill %[4]d && echo killed; cat /proc/%[4]d/environ && echo spied; ls %[5]s && echo entered; true`,
		record.Log, state, filepath.Dir(record.Log), record.PID, g.home(ann))
	theirs := g.addAs(t, bob, shell(g.home(bob), "("+attack+") 2>/dev/null"), shell(g.home(ann), "true"), api.Task{Command: []string{"no-such-program"}, Dir: g.home(bob), Env: []string{"PATH=/bin"}, Memory: 1 << 30})
	jobs := g.over(t, theirs...)
	if got := g.output(t, theirs[0], false); got != "" || jobs[0].State != runner.Succeeded {
		t.Errorf("another user's job is %v and did %q", jobs[0].State, got)
	}
	if j := jobs[1]; j.State != runner.Failed || !strings.Contains(j.Err, "permission denied") {
		t.Errorf("a job in another's folder is %v: %s", j.State, j.Err)
	}
	if j := jobs[2]; j.State != runner.Failed || !strings.Contains(j.Err, "not in the PATH") {
		t.Errorf("a program that there is not: %v: %s", j.State, j.Err)
	}
	if !slices.Equal([]string{id}, g.stillRunning(t)) {
		t.Errorf("job %s does not run any more", id)
	}
	if err := g.Do(t.Context(), "cancel", id); err != nil { // root may
		t.Error(err)
	}
	g.over(t, id)
}

// stillRunning lists the jobs that hold GPUs.
func (g *rig) stillRunning(tb testing.TB) (ids []string) {
	tb.Helper()
	s, err := g.State(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for i := range s.Active {
		ids = append(ids, s.Active[i].ID)
	}
	return ids
}

// ahead is the system's clock, and later than that.
type ahead struct {
	nvmlx.Clock

	by atomic.Int64
}

type aheadWaiter struct {
	nvmlx.Waiter

	clock *ahead
}

func (c *ahead) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.by.Load())) }

func (c *ahead) NewWaiter() nvmlx.Waiter { return aheadWaiter{c.Clock.NewWaiter(), c} }

func (w aheadWaiter) Wait(ctx context.Context, t time.Time) error {
	return w.Waiter.Wait(ctx, t.Add(-time.Duration(w.clock.by.Load())))
}

// Two users whose jobs want one GPU, and take an hour each, have it for as long, but for two of these jobs, though one came
// first with all of his.
func TestFair(t *testing.T) {
	const each = 6
	clock := &ahead{Clock: nvmlx.SystemClock()}
	g := lab(t, 1, func(c *Config) { c.PerGPU, c.Clock = 1, clock })
	g.turns.Drain(true)
	for _, uid := range []int{bob, ann} {
		job := shell(g.home(uid), "while [ ! -e end-$COLLOC_TASK ]; do sleep 0.01; done")
		job.Env = append(job.Env, "COLLOC_TESTBED="+os.Getenv("COLLOC_TESTBED"))
		g.addAs(t, uint32(uid), slices.Repeat([]api.Task{job}, each)...)
	}
	g.turns.Drain(false)
	had := map[string]int{strconv.Itoa(ann): 0, strconv.Itoa(bob): 0}
	for range 2 * each {
		var s api.State
		for len(s.Active) == 0 || s.Active[0].State != runner.Running {
			changed := g.change()
			var err error
			if s, err = g.State(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(s.Active) == 0 || s.Active[0].State != runner.Running {
				<-changed
			}
		}
		j := s.Active[0]
		if had[j.User]++; len(had) != 2 || math.Abs(float64(had[strconv.Itoa(ann)]-had[strconv.Itoa(bob)])) > 2 {
			t.Fatalf("jobs that users had the GPU for: %v", had)
		}
		clock.by.Add(int64(time.Hour))
		uid, err := strconv.Atoi(j.User)
		if err == nil {
			err = os.WriteFile(filepath.Join(g.home(uid), "end-"+j.ID), nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		g.over(t, j.ID)
	}
}

// firstIDs are those of so many jobs, the first.
func firstIDs(upTo int) (ids []string) {
	for n := 1; n <= upTo; n++ {
		ids = append(ids, strconv.Itoa(n))
	}
	return ids
}

// A user is told of whose jobs are all in the history.
func TestPastUsers(t *testing.T) {
	const n = 40
	g := lab(t, 1, func(c *Config) { c.Keep = 1 })
	held := shell("/", "true")
	held.Held = true
	for _, uid := range []uint32{ann, bob} {
		ids := g.addAs(t, uid, slices.Repeat([]api.Task{held}, n)...)
		if err := g.Do(t.Context(), "cancel", ids...); err != nil {
			t.Fatal(err)
		}
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Minute); len(g.runner.Records()) >= n; <-tick.C {
		if time.Now().After(end) {
			t.Fatal("nothing moves to the history")
		}
	}
	s, err := g.State(t.Context())
	if err != nil || len(s.Users) != 2 || s.Users[0].Name != "54321" || s.Users[0].Cancelled != n || s.Users[1].Cancelled != n || s.Count.Cancelled != 2*n {
		t.Errorf("%+v of %+v, %v; want %d of each user", s.Count, s.Users, err, n)
	}
}

// A user may have so many connections and no more, whatever they ask or do not ask for, and
// others are answered meanwhile. No user passes all others in class high unless told so.
func TestCrowd(t *testing.T) {
	g := lab(t, 1, func(c *Config) { c.Limits = map[uint32]Limits{bob: {High: true}} })
	crowd := exec.Command("/proc/self/exe", "crowd", filepath.Join(g.dir, "s"), strconv.Itoa(maxConnections+10))
	crowd.Dir, crowd.Stderr = "/", os.Stderr
	crowd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ann, Gid: ann}}
	in, err := crowd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := crowd.StdoutPipe()
	if err == nil {
		err = crowd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	if _, err := fmt.Fscanln(out, &answered); err != nil || answered != maxConnections {
		t.Errorf("of one user's connections %d were answered, %v; want %d", answered, err, maxConnections)
	}
	if code, text := g.as(t, bob, http.MethodGet, "/v1/jobs", nil); code != http.StatusOK {
		t.Errorf("another user gets %d %s", code, text)
	}
	if _, err := g.State(t.Context()); err != nil {
		t.Errorf("root gets %v", err)
	}
	if err := errors.Join(in.Close(), crowd.Wait()); err != nil {
		t.Fatal(err)
	}
	high := shell("/", "true")
	high.Class = highClass
	if code, text := g.as(t, ann, http.MethodPost, "/v1/jobs", api.Submission{Tasks: []api.Task{high}}); code != http.StatusForbidden || !strings.Contains(text, "class high") {
		t.Errorf("a user passes all others: %d %s", code, text)
	}
	g.over(t, g.addAs(t, bob, high)...)
}

// A job that uses more than was reserved for it is stopped beside another user's, who is
// not told of it; what a job waits for does not name its folder to others.
func TestOverrun(t *testing.T) {
	g := lab(t, 1, nil)
	hold := func(uid int, size, gate string) api.Task {
		reserved := map[int]profile.Bytes{ann: 16 * profile.GiB, bob: 4 * profile.GiB}
		return api.Task{
			Command: []string{g.binary(t), "hold", size, filepath.Join(g.home(uid), gate)}, Dir: g.home(uid), Memory: reserved[uid],
			Env: []string{"COLLOC_TESTBED=" + os.Getenv("COLLOC_TESTBED")},
		}
	}
	innocent := g.addAs(t, ann, hold(ann, "15GiB", "end"))[0]
	g.running(t, innocent)
	greedy := g.addAs(t, bob, hold(bob, "23GiB", "end"))[0]
	for {
		changed := g.change()
		if g.turns.Accounts()[bob].Overruns == 1 { // with the event that warns, after the record
			break
		}
		<-changed
	}
	if j, err := g.Job(t.Context(), innocent); err != nil || j.State != runner.Running || j.Runs != 1 {
		t.Errorf("the other job is %+v, %v", j, err)
	}
	if _, text := g.as(t, bob, http.MethodGet, "/v1/state", nil); !strings.Contains(text, "4 GiB it reserved") {
		t.Errorf("its user is not told: %s", text)
	}
	if _, text := g.as(t, ann, http.MethodGet, "/v1/state", nil); strings.Contains(text, "it reserved") || strings.Contains(text, "is queued again") {
		t.Errorf("the other user is told: %s", text)
	}
	if a := g.turns.Accounts(); a[bob].Overruns != 1 || a[ann].Overruns != 0 || a[bob].OutOfMemory != 0 {
		t.Errorf("accounts %+v", a)
	}
	for _, uid := range []int{ann, bob} {
		if err := os.WriteFile(filepath.Join(g.home(uid), "end"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, j := range g.over(t, innocent, greedy) {
		if j.State != runner.Succeeded {
			t.Errorf("job %s is %v: %s", j.ID, j.State, j.Err)
		}
	}
	record, _ := g.runner.Record(greedy)
	told := read1(t, strings.TrimSuffix(record.Log, ".2.log")+".1.log") // of the run that was stopped
	for _, text := range []string{"colloc: this job uses 23 GiB of GPU memory, and 4 GiB are reserved", "it is stopped should others", "runs again with a larger reservation", "with -mem 24GiB"} {
		if !strings.Contains(told, text) {
			t.Errorf("its output says %q, want %q in it", told, text)
		}
	}
	if got := g.output(t, innocent, false); strings.Contains(got, "colloc:") {
		t.Errorf("the output of the other says %q", got)
	}
}

// TestLent: a number that a user got for user namespaces is no user of its own, with shares and limits of its own; one that is a
// user's, too, is.
func TestLent(t *testing.T) {
	nobody, err := peer.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(t.TempDir(), "subuid")
	if err := os.WriteFile(table, fmt.Appendf(nil, "# of users\nann:200000:65536\nbob:4294967290:100\nx:-1:5\ncy:%d:1\n", nobody), 0o600); err != nil {
		t.Fatal(err)
	}
	g := lab(t, 1, func(c *Config) { c.lent = table })
	for uid, lender := range map[uint32]string{199_999: "", 200_000: "ann", 265_535: "ann", 265_536: "", math.MaxUint32: "bob", nobody: "", 0: ""} {
		code, e := g.ask(t, uid, http.MethodGet, "/v1/state", "")
		if (code == http.StatusForbidden) != (lender != "") || !strings.Contains(e.What, lender) {
			t.Errorf("as %d: %d, %v; want it to be a number of %q", uid, code, e, lender)
		}
	}
}
