package station

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/internal/race"
)

// soakVariable says how long a soak is: ROUNDS.USERS.JOBS.SEED, with so many jobs of each user in a round.
const soakVariable = "STATION_SOAK"

// keptOfLab is how many jobs that are over the daemon of a lab has in memory.
const keptOfLab = 20

// levels are what must not grow.
type levels struct {
	Goroutines int
	Heap       uint64
	Files      int // that the daemon has open
	left       int // jobs of whose runs there are files but for the outputs
	processes  int // supervisors
}

// tellLevels writes what a daemon takes whenever it gets SIGUSR1.
func tellLevels(dir string) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR1)
	for range told {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		files, err := os.ReadDir("/proc/self/fd")
		text, err2 := json.Marshal(levels{Goroutines: runtime.NumGoroutine(), Heap: m.HeapAlloc, Files: len(files)})
		name := filepath.Join(dir, "levels")
		if err == nil && err2 == nil && os.WriteFile(name+".new", text, 0o600) == nil {
			_ = os.Rename(name+".new", name)
		}
	}
}

// levels are those of the daemon when nothing runs any more.
func (l *laboratory) levels(tb testing.TB) (now levels) {
	tb.Helper()
	name := filepath.Join(l.dir, "levels")
	_ = os.Remove(name) // that of the last time
	l.Client.Close()
	for _, c := range l.clients {
		_ = c.to.Encode(asked{Method: noConnection})
		_ = c.from.Decode(new(answered))
	}
	if err := l.daemon.Process.Signal(syscall.SIGUSR1); err != nil {
		tb.Fatal(err)
	}
	l.soon(tb, "the daemon tells its levels", func() bool {
		text, err := os.ReadFile(name)
		return err == nil && json.Unmarshal(text, &now) == nil
	})
	jobs := make(map[string]bool)
	for _, end := range []string{"claim", "exit", "steps", "restart"} {
		found, _ := filepath.Glob(filepath.Join(l.dir, "state", "runs-*", "*."+end)) // the pattern is right
		for _, file := range found {
			number, _, _ := strings.Cut(filepath.Base(file), ".")
			jobs[number] = true
		}
	}
	now.left = len(jobs)
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range found {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), l.dir+"/state/runs-") { // what has ended has none
			now.processes++
		}
	}
	return now
}

// soon waits for what a daemon brings about.
func (l *laboratory) soon(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Minute); !is(); <-tick.C {
		if time.Now().After(end) {
			s, err := l.State(tb.Context())
			tb.Fatalf("not in five minutes: %s: %+v, %v", what, s, err)
		}
	}
}

// TestSoak: many users' jobs, some of which fail and are tried again, a GPU that is lost and comes back, kill -9 and an
// upgrade of the daemon while they run, again and again: every job ends once, and after each round the daemon takes no more
// memory, descriptors and goroutines than after the first, and no process is left, nor a file of a run but its output and those
// of jobs that the daemon has in memory. For hours, with eight GPUs; it begins no round that would not end before the timeout:
//
//	STATION_SOAK=1000.20.100.1 go test ./colloc/station -run TestSoak -v -timeout 2h
func TestSoak(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may run tasks as other users")
	}
	gpus, rounds, users, n, seed := 2, 3, 3, 12, uint64(1)
	spareHeap := uint64(8 << 20)
	deadline, timed := time.Time{}, false
	if race.Enabled || testing.Short() {
		rounds, n = 2, 8
	}
	if text := os.Getenv(soakVariable); text != "" {
		if _, err := fmt.Sscanf(text, "%d.%d.%d.%d", &rounds, &users, &n, &seed); err != nil {
			t.Fatalf("%s=%s: want ROUNDS.USERS.JOBS.SEED", soakVariable, text)
		}
		gpus = 8
		spareHeap = 128 << 20 // of many programs up to a quarter of a million sets are remembered
		deadline, timed = t.Deadline()
	}
	l := newLaboratory(t, gpus)
	random := rand.New(rand.NewPCG(seed, 0))
	l.serve(t)
	var first levels
	var longest time.Duration
	done := 0
	const reading = 250 * time.Microsecond // of each job, at the end
	for round := 1; round <= rounds && (!timed || time.Until(deadline) > 2*longest+time.Duration(done*users*n)*reading); round++ {
		begun := time.Now()
		for uid := range users {
			l.addAs(t, uint32(ann+uid), soakJobs(n, random)...)
		}
		over := func(want int) func() bool {
			return func() bool {
				s, err := l.State(t.Context())
				return err == nil && s.Count.Succeeded+s.Count.Failed >= want
			}
		}
		before, all := (round-1)*users*n, users*n
		l.soon(t, "a third is over", over(before+all/3))
		l.cards(t, gpus, true)
		l.soon(t, "half is over", over(before+all/2))
		l.kill(t)
		l.serve(t)
		l.cards(t, gpus, false)
		l.soon(t, "all is over", over(before+all))
		const spareFiles, spareJobs = 3, 16                                            // jobs move to the history by the dozen
		l.soon(t, "the daemon takes no more than after the first round", func() bool { // what has just ended lets go of it
			now := l.levels(t)
			t.Logf("round %d: %+v", round, now)
			if round == 1 {
				first = now
			}
			return now.Goroutines <= first.Goroutines+spareFiles && now.Files <= first.Files+spareFiles && now.Heap <= first.Heap+spareHeap &&
				now.left < keptOfLab+spareJobs && now.processes == 0
		})
		done, longest = round, max(longest, time.Since(begun))
	}
	l.checkSoak(t, done*users*n)
	l.kill(t)
}

// soakJobs are short jobs of which every seventh fails at first.
func soakJobs(n int, random *rand.Rand) []api.Task {
	tasks := make([]api.Task, n)
	for i := range tasks {
		script := fmt.Sprintf("sleep %.3f", 0.02+0.1*random.Float64())
		if i%7 == 0 {
			script += "; [ $COLLOC_RUN -gt 1 ]"
			tasks[i].Retries = 1
		}
		retries := tasks[i].Retries
		tasks[i] = shell("/", script)
		tasks[i].Retries = retries
		tasks[i].Env = append(tasks[i].Env, "COLLOC_TESTBED="+os.Getenv("COLLOC_TESTBED"))
	}
	return tasks
}

// checkSoak: each job is there once and succeeded, but for those that lost their GPU too often.
func (l *laboratory) checkSoak(t *testing.T, want int) {
	t.Helper()
	jobs, err := l.Jobs(t.Context(), api.Query{Ended: -1})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[int]bool)
	for i := range jobs {
		j := &jobs[i]
		number, err := strconv.Atoi(j.ID)
		if err != nil || number < 1 || number > want || seen[number] {
			t.Errorf("job %q is there twice, or nobody submitted it", j.ID)
		}
		seen[number] = true
	}
	if len(seen) != want {
		t.Errorf("%d jobs are there, want %d", len(seen), want)
	}
	failed, err := l.Jobs(t.Context(), api.Query{Ended: -1, States: []queue.State{queue.Failed, queue.Cancelled}})
	for i := range failed {
		t.Errorf("job %s of %s failed after %d runs", failed[i].ID, failed[i].User, failed[i].Runs)
	}
	if err != nil {
		t.Error(err)
	}
}
