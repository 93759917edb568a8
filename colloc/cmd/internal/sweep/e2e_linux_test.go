package sweep

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/internal/golden"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/cmd/internal/joblog"
	"example.com/colloc/colloc/cmd/internal/screen"
)

// process is the program as a process in a folder of its own.
type process struct {
	*exec.Cmd
	t      testing.TB
	stderr bytes.Buffer
	lines  *bufio.Reader // its standard output
	out    strings.Builder
}

// launch starts the program in dir with fake GPUs.
func launch(tb testing.TB, dir string, args ...string) *process {
	tb.Helper()
	file, err := filepath.Abs(gpusFile)
	if err != nil {
		tb.Fatal(err)
	}
	return launchWith(tb, dir, append([]string{"sweep", "-logs", "logs", "-fake-gpus", file, "-profile", "300ms"}, args...))
}

// launchWith starts the program in dir.
func launchWith(tb testing.TB, dir string, args []string) *process {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	p := &process{Cmd: exec.Command(self, args...), t: tb}
	p.Dir, p.Stderr = dir, &p.stderr
	p.Env = append(os.Environ(), mainEnv+"="+dir)
	stdout, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	p.lines = bufio.NewReader(stdout)
	return p
}

// until reads output until a line contains text, and returns it.
func (p *process) until(text string) string {
	p.t.Helper()
	for {
		line, err := p.lines.ReadString('\n')
		p.out.WriteString(line)
		if strings.Contains(line, text) {
			return line
		}
		if err != nil {
			p.t.Fatalf("no line with %q in:\n%s%s", text, &p.out, &p.stderr)
		}
	}
}

// end waits for the end and returns the exit status and all output.
func (p *process) end() (status int, stdout string) {
	p.t.Helper()
	_, err := io.Copy(&p.out, p.lines)
	err = errors.Join(err, p.Wait())
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.ProcessState.ExitCode(), p.out.String()
}

// check runs the program to its end, which must have the status.
func check(tb testing.TB, dir string, status int, args ...string) (stdout string) {
	tb.Helper()
	p := launch(tb, dir, args...)
	got, stdout := p.end()
	if got != status || (status < 2) != (p.stderr.Len() == 0) {
		tb.Errorf("%q: status %d, want %d; %s\n%s", args, got, status, &p.stderr, stdout)
	}
	return stdout
}

// alone checks that no process of the sweep in dir stays: supervisors end after
// their records.
func alone(t *testing.T, dir string) {
	t.Helper()
	stays := func() (command []byte) {
		paths, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range paths {
			env, _ := os.ReadFile(path) // it may be gone, or not ours
			if bytes.Contains(env, []byte(mainEnv+"="+dir+"\x00")) {
				command, _ = os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
				return append(command, " of "+path...)
			}
		}
		return nil
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); ; <-tick.C {
		left := stays()
		if left == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q is left", left)
		}
	}
}

// jobLogOf reads the job log in dir: the last row of each task, by task and column.
func jobLogOf(tb testing.TB, dir string) map[string]map[string]string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "logs", jobLogName))
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	all := make(map[string]map[string]string)
	for _, row := range rows[1:] {
		named := make(map[string]string)
		for i, column := range rows[0] {
			named[column] = row[i]
		}
		all[named["task"]] = named
	}
	return all
}

// statuses are those of the tasks in the job log in dir.
func statuses(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for task, row := range jobLogOf(t, dir) {
		all[task] = row["status"]
	}
	return all
}

// letGo makes the file go, for which tasks wait.
func letGo(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// enough is how long something must be seen: a program has twice as long to come to its first step, on a machine
// with much else to do.
const enough = "4s"

func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, dir, "-profile", enough, "-p", "lr=0.1,1", "-n", "3", "--", "burn", "-mem", "4GiB", "-steps", "300", "-gpu", "500us", "-until", "go", "-lr", "{lr}", "-seed", "{}")
	for range 4 { // none is over
		p.until(" started on")
	}
	letGo(t, dir)
	status, stdout := p.end()
	if status != 0 {
		t.Errorf("status %d: %s", status, &p.stderr)
	}
	alone(t, dir)
	for _, want := range []string{
		`measured lr=`, `("burn", `, "memory 4 GiB", "GPU busy", "a step", " started on fake-0", " started on fake-1", "4.25 GiB reserved, predicted speed",
		"6 of 6 tasks succeeded in", "on 2 GPUs\n", "one after another on 2 GPUs the 6 tasks would have taken", "by its steps × the step time measured alone",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the output has no %q:\n%s", want, stdout)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "logs", "lr=1,run-2.log"))
	if err != nil || !strings.Contains(string(text), "step 300/300") {
		t.Errorf("the log of a task: %v, %s", err, text)
	}
	if info, err := os.Stat(filepath.Join(dir, "logs", jobLogName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the job log: %v, %v; want mode 0600", info.Mode(), err)
	}
	together := regexp.MustCompile(`at most ([4-6]) at once`).FindString(stdout)
	if together == "" {
		t.Errorf("nobody shared a GPU:\n%s", stdout)
	}
}

func TestJobLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "commands"), []byte(`
@id=first @priority=1 burn -steps 20 -mem 1GiB
@id=fails @after=first burn -steps 20 -mem 1GiB -fail-at 10 -exit 3
@after=fails true
`), 0o600); err != nil {
		t.Fatal(err)
	}
	check(t, dir, 1, "-f", "commands", "-retries", "1")
	alone(t, dir)
	text, err := os.ReadFile(filepath.Join(dir, "logs", jobLogName))
	if err != nil {
		t.Fatal(err)
	}
	masked := regexp.MustCompile(`(?m)(fake-\d),(time-slicing),[^,]*,[^,]*,(\d*),[^,]*,[^,]*,[^,]*,[^,]*,\d*,`).
		ReplaceAllString(string(text), "GPU,$2,STARTED,SECONDS,$3,STEP,PREDICTED,SPEED,PEAK,RESERVED,")
	masked = regexp.MustCompile(`(cancelled,0,0,0,,,,,,,,,,0,)("[^"]*"|[^,]*),`).ReplaceAllString(masked, "${1}ERROR,")
	rows := strings.Split(strings.TrimSpace(masked), "\n")
	slices.Sort(rows[1:]) // by number
	golden.Check(t, "joblog.csv", strings.Join(rows, "\n")+"\n")
}

// A task that takes too long is ended and tried again.
func TestStuck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check(t, dir, 1, "-timeout", "100ms", "-retries", "1", "--", "sleep", "1000")
	alone(t, dir)
	row := jobLogOf(t, dir)["task"]
	if row["status"] != joblog.StatusFailed || row["signal"] != "15" || row["runs"] != "2" || row["error"] != "timed out after 100ms (ended by signal 15 (terminated))" {
		t.Errorf("the job log has %v", row)
	}
}

func TestResumeFailed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout := check(t, dir, 1, "-n", "2", "-halt", "soon,fail=2", "--", "burn", "-steps", "5", "-fail-at", "3", "-once", filepath.Join(dir, "once-{}"), "-seed", "{}")
	if !strings.Contains(stdout, "0 of 2 tasks succeeded, 2 failed") || !strings.Contains(stdout, "its output is logs/run-0.log") {
		t.Errorf("output:\n%s", stdout)
	}
	stdout = check(t, dir, 1, "-resume")
	if !strings.Contains(stdout, "0 of 2 tasks succeeded, 2 failed\n") {
		t.Errorf("-resume runs what failed again:\n%s", stdout)
	}
	stdout = check(t, dir, 0, "-resume-failed")
	if !strings.Contains(stdout, "2 of 2 tasks succeeded in") {
		t.Errorf("output:\n%s", stdout)
	}
	want := map[string]string{"run-0": joblog.StatusOK, "run-1": joblog.StatusOK}
	if diff := cmp.Diff(want, statuses(t, dir)); diff != "" {
		t.Error(diff)
	}
	if stderr := refused(t, dir, "-resume", "-n", "3", "--", "burn"); !strings.Contains(stderr, "that is not in this sweep") {
		t.Errorf("another command is taken: %s", stderr)
	}
}

// refused runs the program, which must find wrong usage, and returns why.
func refused(t *testing.T, dir string, args ...string) string {
	t.Helper()
	p := launch(t, dir, args...)
	if status, _ := p.end(); status != exitUsage {
		t.Errorf("%q: status %d, want %d", args, status, exitUsage)
	}
	return p.stderr.String()
}

func TestHaltNow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "commands"), []byte("sleep 1000\nfalse\nsleep 1000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout := check(t, dir, 1, "-f", "commands", "-halt", "now,fail=1")
	alone(t, dir)
	if !strings.Contains(stdout, "0 of 3 tasks succeeded, 1 failed") || statuses(t, dir)["line-1"] != joblog.StatusCancelled {
		t.Errorf("statuses %v, output:\n%s", statuses(t, dir), stdout)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, dir, "-follow", "-n", "6", "-per-gpu", "1", "-shell", "--", "echo ready {}; until [ -e go ]; do sleep 0.02; done")
	p.until(" | ready")
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.until("interrupted: ")
	letGo(t, dir)
	status, stdout := p.end()
	if status != exitInterrupted || !strings.Contains(stdout, "left for -resume") || !strings.Contains(stdout, "go on with: colloc sweep -logs logs -resume") {
		t.Errorf("status %d, want %d:\n%s", status, exitInterrupted, stdout)
	}
	alone(t, dir)
	for task, s := range statuses(t, dir) {
		if s != joblog.StatusOK {
			t.Errorf("%s %s: the first interrupt lets it end", task, s)
		}
	}
	if n := len(statuses(t, dir)); n < 1 || n > 2 { // one on each GPU
		t.Errorf("%d of 6 tasks ended", n)
	}
	if stdout := check(t, dir, 0, "-resume"); !strings.Contains(stdout, "6 of 6 tasks succeeded (") {
		t.Errorf("resumed:\n%s", stdout)
	}
	for task, row := range jobLogOf(t, dir) {
		if row["runs"] != "1" {
			t.Errorf("%s took %s runs", task, row["runs"])
		}
	}
}

func TestInterruptTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, dir, "-n", "3", "--", "sleep", "1{}00")
	p.until("started on")
	p.until("started on")
	for _, answer := range []string{"interrupted: 2 tasks still running", "ending 2 tasks"} {
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.until(answer)
	}
	if status, stdout := p.end(); status != 128+int(syscall.SIGTERM) || !strings.Contains(stdout, "go on with: colloc sweep -logs logs -resume") {
		t.Errorf("status %d:\n%s", status, stdout)
	}
	alone(t, dir)
	want := map[string]string{"run-0": joblog.StatusCancelled, "run-1": joblog.StatusCancelled}
	if diff := cmp.Diff(want, statuses(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// A third interrupt ends the sweep, whatever it waits for, but no task, and says so:
// what the second one was to end goes on, also when the sweep does.
func TestInterruptThrice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, dir, "-follow", "-n", "1", "-shell", "--", "trap '' TERM; echo ready; until [ -e go ]; do sleep 0.02; done; touch went-$COLLOC_RUN")
	p.until(" | ready")
	for _, answer := range []string{"interrupted: 1 task still", "ending 1 task", "leaving; the tasks that run go on"} {
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		p.until(answer)
	}
	if status, stdout := p.end(); status != exitInterrupted || !strings.Contains(stdout, "go on with: colloc sweep -logs logs -resume") {
		t.Errorf("status %d:\n%s", status, stdout)
	}
	letGo(t, dir)
	if stdout := check(t, dir, 0, "-resume"); !strings.Contains(stdout, "1 of 1 tasks succeeded") {
		t.Errorf("resumed:\n%s", stdout)
	}
	alone(t, dir)
	if !exists(filepath.Join(dir, "went-1")) {
		t.Error("the third interrupt ended the task")
	}
}

// A sweep that is killed leaves its tasks alone; the next one takes them over.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, dir, "-follow", "-n", "3", "-gpus", "0", "-per-gpu", "1", "--", "burn", "-steps", "2", "-until", "go", "-seed", "{}") // none is about to start
	p.until(" | step 2/2")
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
	letGo(t, dir)
	if stdout := check(t, dir, 0, "-resume"); !strings.Contains(stdout, "3 of 3 tasks succeeded") {
		t.Errorf("resumed:\n%s", stdout)
	}
	for task, row := range jobLogOf(t, dir) {
		if row["runs"] != "1" || row["status"] != joblog.StatusOK {
			t.Errorf("%s: %s after %s runs", task, row["status"], row["runs"])
		}
	}
}

// A queue that cannot be read is set aside; the job log tells what is left.
func TestCorruptQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check(t, dir, 1, "-n", "2", "--", "burn", "-steps", "5", "-fail-at", "{}", "-once", filepath.Join(dir, "once"))
	queues, err := filepath.Glob(filepath.Join(dir, "logs", queueName, "*.db"))
	if err != nil || len(queues) != 1 {
		t.Fatalf("queues %q, %v", queues, err)
	}
	if err := os.WriteFile(queues[0], bytes.Repeat([]byte("not a queue\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout := check(t, dir, 0, "-resume-failed")
	if !strings.Contains(stdout, "is corrupt and was set aside") || !strings.Contains(stdout, "2 of 2 tasks succeeded") {
		t.Errorf("output:\n%s", stdout)
	}
}

func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout := check(t, dir, 0, "-n", "2", "--", "burn", "-mem", "6GiB", "-steps", "20", "-oom-at", "10", "-once", filepath.Join(dir, "once-{}"))
	if !strings.Contains(stdout, "2 of 2 tasks succeeded") || !strings.Contains(stdout, "; 2 recoveries from lack of memory, 0 retries") {
		t.Errorf("output:\n%s", stdout)
	}
}

// A task that grows after it was measured lets the others reserve as much.
func TestGrowth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	known, err := filepath.Abs("testdata/profile.json")
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, dir, "-known", known, "-n", "2", "-per-gpu", "1", "-gpus", "0", "--", "burn", "-mem", "6GiB", "-grow", "20GiB", "-steps", "20", "-until", "go", "-seed", "{}")
	p.until("run-0 uses 20 GiB, more than was measured")
	letGo(t, dir)
	if status, stdout := p.end(); status != 0 || !strings.Contains(stdout, "run-0 uses 20 GiB, more than was measured") || !strings.Contains(stdout, "run-1 started on fake-0, 20.4 GiB reserved") && // the first had not ended when it started
		!strings.Contains(stdout, "run-1 started on fake-0, 36 GiB reserved") { // the next could use all, and a bound shuts nobody out
		t.Errorf("output:\n%s", stdout)
	}
}

// Where other programs leave no room, the sweep says so and can be interrupted.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := filepath.Join(dir, "full.json")
	if err := os.WriteFile(full, []byte(`{"gpus": [{"name": "A100-40GB", "foreign": "40GiB"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, dir, "-fake-gpus", full, "-retries", "1", "--", "burn", "-steps", "120", "-fail-at", "120", "-once", filepath.Join(dir, "once"))
	p.until("nothing runs; task waits: ")
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status, stdout := p.end(); status != exitInterrupted || !strings.Contains(stdout, "0 of 1 tasks succeeded, 1 left for -resume") {
		t.Errorf("status %d:\n%s", status, stdout)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, dir, "-profile", enough, "-metrics", ":0", "-n", "3", "--", "burn", "-mem", "4GiB", "-steps", "5000", "-seed", "{}")
	url := strings.TrimSpace(strings.TrimPrefix(p.until("metrics on "), "metrics on "))
	if !strings.HasPrefix(url, "http://127.0.0.1:") && !strings.HasPrefix(url, "http://[::1]:") {
		t.Errorf("%s is no loopback address", url)
	}
	p.until("run-2 started on")
	response, err := (&http.Client{Timeout: 2 * time.Minute}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`colloc_sweep_tasks{state="running"} 3`, `colloc_sweep_gpu_tasks{gpu="fake-0"} `, `colloc_sweep_gpu_reserved_bytes{gpu="fake-1"} `,
		`colloc_sweep_gpu_usable_bytes{gpu="fake-1"} 3.8654705664e+10`, `colloc_sweep_gpu_lost{gpu="fake-0"} 0`, `colloc_sweep_task_speed_predicted{gpu="fake-`,
		`colloc_sweep_task_peak_bytes{`, `colloc_sweep_task_reserved_bytes{`, "colloc_sweep_recoveries_total 0", "colloc_sweep_throughput ",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, answer := range []string{"interrupted: ", "ending 3 tasks"} {
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		p.until(answer)
	}
	if status, stdout := p.end(); status != exitInterrupted {
		t.Errorf("status %d:\n%s", status, stdout)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout := check(t, dir, 0, "-json", "-n", "2", "--", "burn", "-steps", "10", "-seed", "{}")
	events := make(map[string]int)
	var last struct {
		Event  string         `json:"event"`
		Report *screen.Report `json:"report"`
	}
	for line := range strings.Lines(stdout) {
		last.Event, last.Report = "", nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		events[last.Event]++
	}
	if events["queued"] != 2 || events["started"] != 2 || events["finished"] != 2 || last.Report == nil || last.Report.OK != 2 {
		t.Errorf("events %v, report %+v", events, last.Report)
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check(t, dir, 0, "-shell", "-p", "x=a,'b; false'", "--", "printf '%s' {x} > out-{#}")
	for name, want := range map[string]string{"out-1": "a", "out-2": "b; false"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v, want %q", name, text, err, want)
		}
	}
}

func TestStepless(t *testing.T) {
	t.Parallel()
	const want = "no steps were found in the output of task, so that speeds are not measured: -step tells how to find them"
	if stdout := check(t, t.TempDir(), 0, "--", "burn", "-quiet", "-steps", "3"); !strings.Contains(stdout, want) {
		t.Errorf("%q is not in:\n%s", want, stdout)
	}
}
