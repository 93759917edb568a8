package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/sim"
)

// everyone is the user for whom a quota holds that names none, see [sim.Options].
const everyone = "*"

// readQuota reads -quota.
func (o *options) readQuota() error {
	if o.quota == "" {
		return nil
	}
	o.quotas = map[string]int{}
	for part := range strings.SplitSeq(o.quota, ",") {
		user, gpus, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			user, gpus = everyone, user
		}
		n, err := strconv.Atoi(gpus)
		if _, twice := o.quotas[user]; err != nil || n < 0 || twice || user == "" {
			return cli.Usage("-quota: %q is no number of GPUs, or of a user who has one already; want 8, or ann=4,*=8", part)
		}
		o.quotas[user] = n
	}
	return nil
}

// deal gives tasks users and priorities, and says what cores they want; the tasks are
// the caller's own.
func (o *options) deal(tasks []sim.Task, seed uint64) {
	draw := rand.New(rand.NewPCG(seed, 0x7573657273))
	total := 0.0
	for k := range o.users {
		total += 1 / float64(k+1)
	}
	for i := range tasks {
		t := &tasks[i]
		x, urgent := draw.Float64()*total, draw.Float64() < o.urgent
		for k := 0; k < o.users && t.User == ""; k++ {
			if x -= 1 / float64(k+1); x < 0 || k == o.users-1 {
				t.User = "user-" + strconv.Itoa(k+1)
			}
		}
		if urgent {
			t.Priority++
		}
		if t.CPU == 0 && !t.HostOnly {
			t.CPU = o.taskCPUs * float64(max(1, t.GPUs))
		}
	}
}

// costs says in words what starts, checkpoints and losses cost.
func (w *world) costs() string {
	text := "every start costs " + w.startup.String()
	if w.base.RestartAll {
		text = "start-up times are the trace's"
	}
	if w.profiling > 0 {
		text += fmt.Sprintf(", the first one %v more where a profile is needed", w.profiling)
	}
	if w.checkpoint > 0 {
		text += fmt.Sprintf(", a checkpoint every %v another %v", w.checkpoint, w.checkpointCost)
	}
	if w.services > 0 {
		text += fmt.Sprintf("; %d of the tasks are invented services", w.services)
	}
	text += w.rules()
	if w.losses > 0 {
		text += fmt.Sprintf(", each GPU fails every %v for %v", w.losses, w.repair)
	}
	return text
}

// rules says in words what holds for users and cores.
func (o *options) rules() string {
	var text string
	if o.quota != "" {
		text += "; quotas of GPUs: " + o.quota
	}
	if o.urgent > 0 {
		text += fmt.Sprintf("; %.0f %% of the tasks are urgent", 100*o.urgent)
	}
	if o.cpus > 0 {
		text += fmt.Sprintf("; the tasks of a machine share %v cores", o.cpus)
	}
	if o.unknownLengths && !o.learn {
		text += "; nobody knows lengths"
	}
	if o.learn {
		what := "lengths and speeds"
		if o.estimator != "oracle" {
			what = "lengths, memory and speeds"
		}
		text += fmt.Sprintf("; %s are learned on the day, which begins with an hour and %.0f %% for each neighbour", what, 100*guessedSlowdown)
	}
	return text
}

// byUser is how far users lie apart: the largest mean finish-time ratio of a user's
// tasks over the smallest; 0 if there are less than two.
func byUser(r *sim.Result) float64 {
	sum, n := map[string]float64{}, map[string]float64{}
	for i := range r.Ends {
		if e := &r.Ends[i]; e.Finished && e.User != "" {
			sum[e.User] += e.Ratio
			n[e.User]++
		}
	}
	var means []float64
	for user := range sum {
		means = append(means, sum[user]/n[user])
	}
	if len(means) < 2 {
		return 0
	}
	return slices.Max(means) / slices.Min(means)
}

// urgent is the mean completion time of the tasks of the highest priority; 0 if all have
// the same.
func urgent(r *sim.Result) time.Duration {
	if len(r.Ends) == 0 {
		return 0
	}
	level := func(a, b sim.End) int { return a.Priority - b.Priority }
	highest := slices.MaxFunc(r.Ends, level).Priority
	if highest == slices.MinFunc(r.Ends, level).Priority {
		return 0
	}
	var sum, n time.Duration
	for i := range r.Ends {
		if e := &r.Ends[i]; e.Finished && e.Priority == highest {
			sum, n = sum+e.JCT(), n+1
		}
	}
	return sum / max(1, n)
}
