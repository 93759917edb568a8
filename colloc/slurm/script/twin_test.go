package script

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// oneOf draws from values that are right; where wrong is set, from those that are not, too.
func oneOf[T any](t *rapid.T, label string, wrong bool, right []T, others ...T) T {
	if wrong {
		right = slices.Concat(right, others)
	}
	return rapid.SampledFrom(right).Draw(t, label)
}

// someRequest draws what a job may ask for, and, where wrong is set, what it may not.
func someRequest(t *rapid.T, wrong bool) Request {
	word := func(field string) string {
		return oneOf(t, field, wrong, []string{"", "", "a", "~!%x", "g[1-3,5]"}, "a b", "a#", "é", "\x7f")
	}
	count := func(field string) int { return oneOf(t, field, wrong, []int{0, 1, 2, 48, maxCount}, -1, maxCount+1) }
	r := Request{
		Name: word("name"), Account: word("account"), Partition: word("partition"), QOS: word("qos"), Reservation: word("reservation"),
		Constraint: word("constraint"), Licenses: word("licenses"), NodeList: word("node list"), Output: word("output"), Comment: word("comment"),
		Nodes: count("nodes"), TasksPerNode: count("tasks"), CPUsPerTask: count("cpus"),
		Memory:  oneOf(t, "memory", wrong, []profile.Bytes{0, 1, profile.MiB - 1, profile.MiB, profile.MiB + 1, 1<<63 - 1}, -1),
		Time:    oneOf(t, "time", wrong, []time.Duration{0, 24*time.Hour - 1, 24 * time.Hour, 100*time.Hour + 59*time.Minute + 58*time.Second}, -1, 1, 90*time.Second),
		Warn:    oneOf(t, "warn", wrong, []time.Duration{0, 1, time.Second, time.Second + 1, 65535 * time.Second}, -1, 65535*time.Second+1, 24*time.Hour),
		Signal:  oneOf(t, "signal", wrong, []string{"", "", "USR2", "TERM"}, "KILL", "usr1"),
		Requeue: rapid.Bool().Draw(t, "requeue"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "kinds of gres") {
		r.Gres = append(r.Gres, site.Gres{
			Name: oneOf(t, "gres", wrong, []string{"gpu", "shard"}, "", "a b"), Type: oneOf(t, "type", wrong, []string{"", "a100"}, "a:b"),
			Count: oneOf(t, "count", wrong, []int{1, 8, maxCount}, 0, -1, maxCount+1),
		})
	}
	return r
}

// TestRequestTwin: a header says again what was asked for, no less of memory and time and less
// than one unit more; what cannot be asked for is named, field by field.
func TestRequestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := someRequest(t, rapid.Bool().Draw(t, "wrong"))
		var faults []string
		wrong := func(field string, is bool) {
			if is {
				faults = append(faults, field)
			}
		}
		want := map[string]string{}
		for _, f := range []struct{ field, name, value string }{
			{"Name", "job-name", r.Name},
			{"Account", "account", r.Account},
			{"Partition", "partition", r.Partition},
			{"QOS", "qos", r.QOS},
			{"Reservation", "reservation", r.Reservation},
			{"Constraint", "constraint", r.Constraint},
			{"Licenses", "licenses", r.Licenses},
			{"NodeList", "nodelist", r.NodeList},
			{"Output", "output", r.Output},
			{"Comment", "comment", r.Comment},
		} {
			want[f.name] = f.value
			wrong(f.field, slices.Contains([]string{"a b", "a#", "é", "\x7f"}, f.value))
		}
		for _, f := range []struct {
			field, name string
			value       int
		}{{"Nodes", "nodes", r.Nodes}, {"TasksPerNode", "ntasks-per-node", r.TasksPerNode}, {"CPUsPerTask", "cpus-per-task", r.CPUsPerTask}} {
			if f.value != 0 {
				want[f.name] = strconv.Itoa(f.value)
			}
			wrong(f.field, f.value < 0 || f.value > 1<<24)
		}
		wrong("Memory", r.Memory < 0)
		wrong("Time", r.Time < 0)
		warn := r.Warn
		if warn == 0 && r.Signal != "" {
			warn = time.Minute
		}
		wrong("Warn", r.Warn < 0 || r.Warn > 65535*time.Second)
		wrong("Warn", warn > 0 && r.Time > 0 && warn >= r.Time)
		wrong("Signal", r.Signal == "KILL" || r.Signal == "usr1")
		var gres []string
		for i, g := range r.Gres {
			gres = append(gres, g.String())
			wrong(fmt.Sprintf("Gres[%d]", i), g.Count < 1 || g.Count > 1<<24 || g.Name == "" || g.Name == "a b" || g.Type == "a:b")
		}
		want["gres"] = strings.Join(gres, ",")
		if r.Requeue {
			want["open-mode"] = "append"
		}

		text, err := r.Header()
		args, again := r.Args()
		if fmt.Sprint(err) != fmt.Sprint(again) {
			t.Fatalf("a header is refused for %v, arguments for %v", err, again)
		}
		var found []string
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				field, _, _ := strings.Cut(strings.TrimPrefix(line, "slurm: request: "), " ")
				found = append(found, field)
			}
		}
		slices.Sort(faults)
		slices.Sort(found)
		if !slices.Equal(faults, found) {
			t.Fatalf("%+v\nfaults of %v are found, want %v: %v", r, found, faults, err)
		}
		if err != nil {
			return
		}
		got := map[string]string{}
		requeued := false
		for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if line == "" && len(args) == 0 {
				break // nothing is asked for
			}
			if line != "#SBATCH "+args[n] {
				t.Fatalf("line %d is %q, argument %d %q", n, line, n, args[n])
			}
			name, value, _ := strings.Cut(strings.TrimPrefix(line, "#SBATCH --"), "=")
			got[name], requeued = value, requeued || name == "requeue"
		}
		mib, _ := strings.CutSuffix(got["mem"], "M")
		if have := number(t, mib); profile.Bytes(have) < r.Memory/profile.MiB || (have-1)*int64(profile.MiB) >= int64(r.Memory) && have > 0 || have > 0 != (r.Memory > 0) {
			t.Fatalf("%d bytes are asked for as %q", int64(r.Memory), got["mem"])
		}
		if over := have(t, got["time"]) - r.Time; over < 0 || over >= time.Second {
			t.Fatalf("%v is asked for as %q", r.Time, got["time"])
		}
		signal, before, _ := strings.Cut(got["signal"], "@")
		if over := time.Duration(number(t, before))*time.Second - warn; over < 0 || over >= time.Second || (got["signal"] == "") != (warn == 0) {
			t.Fatalf("a warning of %v is asked for as %q", warn, got["signal"])
		}
		if warn > 0 && signal != "B:"+cmp.Or(r.Signal, "USR1") {
			t.Fatalf("signal %q is asked for as %q", r.Signal, got["signal"])
		}
		if requeued != r.Requeue {
			t.Fatalf("asks to be begun again: %v, want %v", requeued, r.Requeue)
		}
		for name, value := range want {
			if got[name] != value {
				t.Fatalf("--%s is %q, want %q", name, got[name], value)
			}
		}
	})
}

// number reads a number; an empty text is 0.
func number(t *rapid.T, s string) int64 {
	n, err := strconv.ParseInt(cmp.Or(s, "0"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// have reads days-hours:minutes:seconds as Slurm does.
func have(t *rapid.T, s string) time.Duration {
	days, rest, found := strings.Cut(s, "-")
	if !found {
		days, rest = "", s
	}
	fields := strings.Split(rest, ":")
	total := time.Duration(number(t, days)) * 24 * time.Hour
	for i, most := range []int64{24, 60, 60} {
		if s == "" {
			break
		}
		n := number(t, fields[i])
		if len(fields[i]) != 2 || n >= most || found && number(t, days) == 0 {
			t.Fatalf("%q is no time as it is written", s)
		}
		total += time.Duration(n) * []time.Duration{time.Hour, time.Minute, time.Second}[i]
	}
	return total
}

// TestCompletedTwin: what is left open in a request is what the tasks need; what is asked for
// must be as much, or just as many nodes and processes as the script is made for.
func TestCompletedTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.IntRange(0, 3)
		need := Request{
			Nodes: 1 + small.Draw(t, "nodes"), TasksPerNode: 1 + small.Draw(t, "processes"), CPUsPerTask: 1 + small.Draw(t, "cpus"),
			Memory: profile.Bytes(small.Draw(t, "memory")),
		}
		if n := small.Draw(t, "gpus"); n > 0 {
			need.Gres = []site.Gres{{Name: "gpu", Count: n}}
		}
		asked := Request{
			Name: "a", Nodes: small.Draw(t, "asked nodes"), TasksPerNode: small.Draw(t, "asked processes"), CPUsPerTask: small.Draw(t, "asked cpus"),
			Memory: profile.Bytes(small.Draw(t, "asked memory")),
		}
		for range rapid.IntRange(0, 3).Draw(t, "asked gres") {
			asked.Gres = append(asked.Gres, site.Gres{Name: rapid.SampledFrom([]string{"gpu", "gpu", "shard", "mps", "nic"}).Draw(t, "name"), Count: rapid.SampledFrom([]int{0, 1, 2, 5, maxCount + 1}).Draw(t, "count")})
		}
		want := asked
		want.Gres = slices.Clone(asked.Gres)
		var faults []string
		exact := func(field string, value *int, need int) {
			if *value == 0 {
				*value = need
			} else if *value != need {
				faults = append(faults, fmt.Sprintf("slurm: request: %s is %d, but the script is made for %d", field, *value, need))
			}
		}
		exact("Nodes", &want.Nodes, need.Nodes)
		exact("TasksPerNode", &want.TasksPerNode, need.TasksPerNode)
		if want.CPUsPerTask == 0 {
			want.CPUsPerTask = need.CPUsPerTask
		} else if want.CPUsPerTask < need.CPUsPerTask {
			faults = append(faults, fmt.Sprintf("slurm: request: CPUsPerTask is %d, but the tasks need %d: leave it 0 or raise it", want.CPUsPerTask, need.CPUsPerTask))
		}
		if want.Memory == 0 {
			want.Memory = need.Memory
		} else if want.Memory < need.Memory {
			faults = append(faults, fmt.Sprintf("slurm: request: Memory is %v, but the tasks need %v: leave it 0 or raise it", want.Memory, need.Memory))
		}
		gpus, open, shares := 0, -1, false
		for i, g := range asked.Gres {
			switch {
			case g.Name == "shard" || g.Name == "mps":
				shares = true
			case g.Name == "gpu" && g.Count == 0 && open < 0:
				open = i
			case g.Name == "gpu" && g.Count <= maxCount:
				gpus += g.Count
			}
		}
		n := 0
		if len(need.Gres) > 0 {
			n = need.Gres[0].Count
		}
		if open >= 0 {
			want.Gres[open].Count = n - gpus
			if gpus < n {
				gpus = n
			} else { // too many already: the header refuses less than one
				for i := open + 1; i < len(want.Gres); i++ {
					if g := &want.Gres[i]; g.Name == "gpu" && g.Count == 0 {
						g.Count = n - gpus
					}
				}
			}
		}
		if len(asked.Gres) == 0 {
			want.Gres, gpus = need.Gres, n
		}
		if gpus < n && (n != 1 || !shares) {
			faults = append(faults, fmt.Sprintf("slurm: request: Gres has %d GPUs on each node, but the tasks need %d: give the type with Count 0, or enough", gpus, n))
		}
		got, err := complete(asked, need)
		if text := strings.Join(faults, "\n"); err == nil && text != "" || err != nil && err.Error() != text {
			t.Fatalf("asked %+v, needed %+v: %v\nwant %s", asked, need, err, text)
		}
		if d := diff.Diff(want, got); d != "" && err == nil {
			t.Fatalf("asked %+v, needed %+v (-want +got):\n%s", asked, need, d)
		}
	})
}

// someTask draws a task and how it is written in a script.
func someTask(t *rapid.T, i int) Task {
	return Task{
		Name:      fmt.Sprintf("t%d%s", i, rapid.SampledFrom([]string{"", " b", "/é"}).Draw(t, "name")),
		Command:   []string{"run", rapid.SampledFrom([]string{"x", "a b"}).Draw(t, "argument")},
		Env:       rapid.SampledFrom([][]string{nil, {"A=1"}, {"pids=2", "B=a=b"}}).Draw(t, "env"),
		Dir:       rapid.SampledFrom([]string{"", "", "d", "/d", "../d", "./d"}).Draw(t, "dir"),
		Log:       rapid.SampledFrom([]string{"", "l", "/l"}).Draw(t, "log"),
		CPUs:      rapid.IntRange(0, 3).Draw(t, "cpus"),
		GPUMemory: rapid.SampledFrom([]profile.Bytes{0, profile.MiB - 1, profile.MiB, 20*profile.GiB + 1}).Draw(t, "gpu memory"),
		Peak:      rapid.IntRange(0, 3).Draw(t, "peak") == 0,
	}
}

// TestSharedTwin: the script of sets is, part by part, what each part is said to be.
func TestSharedTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := &Options{
			Setup: rapid.SampledFrom([]string{"", "module load x", "a\nb\n\n"}).Draw(t, "setup"), LogDir: rapid.SampledFrom([]string{"", "logs", "/l"}).Draw(t, "log dir"),
			Group: rapid.SampledFrom([]string{"", "it's"}).Draw(t, "group"), Scratch: rapid.SampledFrom([]string{"", "/tmp", "s"}).Draw(t, "scratch"),
			Request: Request{Signal: rapid.SampledFrom([]string{"", "USR1", "USR2", "INT", "TERM"}).Draw(t, "signal")},
		}
		var sets []Set
		count, daemons, peaks, unnamed := 0, false, false, false
		for range rapid.IntRange(1, 3).Draw(t, "sets") {
			s := Set{Mechanism: rapid.SampledFrom([]profile.Mechanism{profile.Exclusive, profile.TimeSlice, profile.MPS, profile.MIG}).Draw(t, "mechanism"), Neighbours: rapid.Bool().Draw(t, "neighbours")}
			for range rapid.IntRange(1, 2).Draw(t, "tasks") {
				if s.Mechanism == profile.Exclusive && len(s.Tasks) == 1 {
					break
				}
				s.Tasks = append(s.Tasks, someTask(t, count))
				last := &s.Tasks[len(s.Tasks)-1]
				count, peaks, unnamed = count+1, peaks || last.Peak, unnamed || last.Log == ""
			}
			daemons = daemons || s.Mechanism == profile.MPS && !s.Neighbours
			sets = append(sets, s)
		}
		job, err := Shared(sets, o)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		part := func(is bool, format string, args ...any) {
			if is {
				fmt.Fprintf(&b, format, args...)
			}
		}
		part(true, "# GPUs of one node: %d, tasks: %d.\n", len(sets), count)
		part(true, "# Written by colloc. Exit code: 143 after TERM, else that of the first task that failed.\n# shellcheck disable=SC2016,SC2317 # arguments are meant as they are; start calls the functions\n")
		part(o.Setup != "", "\n%s%s\n%s", setupHead, strings.TrimRight(o.Setup, "\n"), setupTail)
		quit, caught, traps := "", "USR1 INT TERM", "trap 'pass USR1 0' USR1\n"
		if daemons {
			quit = "  quit\n"
		}
		if o.Scratch != "" {
			quit += "  rm -rf -- \"${scratch?}\"\n"
		}
		if o.Request.Signal == "USR2" {
			caught, traps = "USR1 USR2 INT TERM", traps+"trap 'pass USR2 0' USR2\n"
		}
		part(true, frameHead, passGroups, quit, caught, traps)
		part(o.Scratch != "", "\nscratch=$(mktemp -d %s/colloc.XXXXXX) || exit 1\nexport scratch\n", map[string]string{"/tmp": "/tmp", "s": "./s"}[o.Scratch])
		part(daemons, "%s", frameMPS)
		n := 0
		for _, s := range sets {
			for i := range s.Tasks {
				part(true, "%s", functionOf(&s.Tasks[i], n, &s, o))
				n++
			}
		}
		part(true, frameGPUs, len(sets))
		part(sets[0].Neighbours && sets[0].Tasks[0].GPUMemory >= 1<<20, frameRoom, int64(sets[0].Tasks[0].GPUMemory)/(1<<20))
		dir := map[string]string{"": ".", "logs": "./logs", "/l": "/l"}[o.LogDir]
		part(unnamed && o.LogDir != "", "mkdir -p -- %s || exit 1\n", dir)
		part(unnamed, "logs=%s/${SLURM_JOB_ID:-0}\n", dir)
		n = 0
		for g, s := range sets {
			part(true, "# GPU %d: %v\n", g, s.Mechanism)
			own := s.Mechanism == profile.MPS && !s.Neighbours
			device := fmt.Sprintf(`"${gpus[%d]}"`, g)
			part(own, "mps %d %s\n", g, device)
			if own {
				device = `"$client"`
			}
			for _, task := range s.Tasks {
				safe := strings.NewReplacer(" ", "_", "/", "_", "é", "_").Replace(task.Name)
				log := map[string]string{"": fmt.Sprintf(`"$logs"-%d-%s.log`, n, safe), "l": "./l", "/l": "/l"}[task.Log]
				part(true, "start %s %s task_%d %s\n", log, quote(task.Name), n, device)
				n++
			}
			part(own, "unset CUDA_MPS_PIPE_DIRECTORY\n")
		}
		part(peaks, "%s", framePeak)
		part(true, "%s", frameTail)
		if d := diff.Diff(b.String(), job.Body); d != "" {
			t.Fatalf("script (-want +got):\n%s", d)
		}
	})
}

// functionOf is the shell function of a task of a set.
func functionOf(task *Task, n int, s *Set, o *Options) string {
	var lines []string
	line := func(is bool, format string, args ...any) {
		if is {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	label := task.Name
	if strings.ContainsAny(label, " é") {
		label = strconv.Quote(label)
	}
	cpus, mib := max(1, task.CPUs), int64(task.GPUMemory)/(1<<20)
	line(true, "\ntask_%d() { # %s", n, label)
	line(true, "  export CUDA_VISIBLE_DEVICES=$1")
	line(true, "  export OMP_NUM_THREADS=%d MKL_NUM_THREADS=%[1]d OPENBLAS_NUM_THREADS=%[1]d NUMEXPR_NUM_THREADS=%[1]d", cpus)
	line(mib > 0, "  export COLLOC_GPU_MEMORY_MIB=%d", mib)
	line(len(s.Tasks) == 2 || s.Neighbours, "  export TF_FORCE_GPU_ALLOW_GROWTH=true XLA_PYTHON_CLIENT_PREALLOCATE=false")
	line(s.Mechanism == profile.MPS && mib > 0, "  export CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%dM", mib)
	line(o.Group != "", `  export COLLOC_TASK=%s COLLOC_GROUP='it'\''s' WANDB_RUN_GROUP='it'\''s'`, quote(task.Name))
	line(o.Scratch != "", "  export COLLOC_SCRATCH=$scratch/%d TMPDIR=$scratch/%[1]d\n  mkdir -p -- \"$TMPDIR\" || exit 1", n)
	for _, pair := range task.Env {
		line(pair == "A=1", "  export A=1")
		line(pair == "pids=2", "  unset -v pids\n  export pids=2")
		line(pair == "B=a=b", "  export B='a=b'")
	}
	line(task.Dir != "", "  cd -- %s || exit 1", map[string]string{"d": "./d", "/d": "/d", "../d": "../d", "./d": "./d"}[task.Dir])
	line(true, "  exec -- run %s\n}\n", map[string]string{"x": "x", "a b": "'a b'"}[task.Command[1]])
	return strings.Join(lines, "\n")
}

// TestMostTasks: as many tasks as one script may have need together what can be asked for; more
// are refused.
func TestMostTasks(t *testing.T) {
	tasks := make([]Task, 1<<14+1)
	for i := range tasks {
		tasks[i] = Task{Name: strconv.Itoa(i), Command: []string{"a"}, Memory: maxMemory}
	}
	for n, want := range map[int]bool{1 << 14: true, 1<<14 + 1: false} {
		if need := sum(tasks[:n]); want && need.Memory != maxMemory<<14 {
			t.Errorf("%d tasks need %v", n, need.Memory)
		}
		if err := checkTasks(tasks[:n]); (err == nil) != want {
			t.Errorf("%d tasks: %v", n, err)
		}
	}
}
