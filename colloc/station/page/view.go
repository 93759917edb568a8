package page

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/station/api"
)

// view is what the page shows: texts, so that nothing else can get there.
type view struct {
	Version, Up, At            string
	Running, Waiting, Warnings int
	More                       int // jobs that wait and are not listed
	Draining                   bool
	GPUs                       []gpu
	Users                      []user
	Active, Queue              []job
}

// gpu is one card; the parts of its memory are percentages.
type gpu struct {
	Index                                 int
	Name, Condition, Busy, Used, Reserved string
	Memory, Mechanism                     string
	UsedPart, ReservedPart                int
	UsedKnown                             bool
	Jobs                                  []job
}

// user is what one user has and had.
type user struct {
	Name, Due, Had, Time, Saved, Wait string
	Running, Waiting, OutOfMemory     int
}

// job is one job.
type job struct {
	ID, Name, User, State, GPUs, Memory, Speed, Progress string
	For, When, Note                                      string
	Part                                                 int // of its steps, in percent
}

// missing stands for what is not known.
const missing = "–"

func viewOf(s *api.State) *view {
	v := &view{
		Version: s.Version, Up: span(s.At.Sub(s.Since)), At: s.At.Format("2006-01-02 15:04:05 MST"),
		Running: s.Count.Running, Waiting: s.Count.Queued, Warnings: len(s.Warnings),
		More: max(0, s.Count.Queued-len(s.Queue)), Draining: s.Draining,
	}
	byID := make(map[string]job)
	for i := range s.Active {
		j := jobOf(&s.Active[i], s.At)
		v.Active, byID[j.ID] = append(v.Active, j), j
	}
	for i := range s.Queue {
		v.Queue = append(v.Queue, jobOf(&s.Queue[i], s.At))
	}
	for i := range s.GPUs {
		v.GPUs = append(v.GPUs, gpuOf(&s.GPUs[i], byID))
	}
	for i := range s.Users {
		u := &s.Users[i]
		v.Users = append(v.Users, user{
			Name: u.Name, Running: u.Running, Waiting: u.Queued, OutOfMemory: u.OutOfMemory, Due: percent(u.Share), Had: percent(u.Had),
			Time: hours(u.GPUSeconds), Saved: hours(u.SavedSeconds), Wait: meanWait(u),
		})
	}
	return v
}

func gpuOf(g *api.GPU, byID map[string]job) gpu {
	to := gpu{
		Index: g.Index, Name: g.Name, Busy: missing, Used: missing, Memory: g.Memory.String(), Mechanism: g.Mechanism.String(),
		Reserved: g.Reserved.String(), ReservedPart: part(float64(g.Reserved), float64(g.Memory)),
	}
	if used, ok := g.Used.Get(); ok {
		to.Used, to.UsedPart, to.UsedKnown = used.String(), part(float64(used), float64(g.Memory)), true
	}
	if busy, ok := g.Busy.Get(); ok {
		to.Busy = percent(busy)
	}
	switch {
	case g.Lost:
		to.Condition = "does not answer"
	case g.Drained:
		to.Condition = "drained"
	case g.For != "":
		to.Condition = fmt.Sprintf("for %s until %s", g.For, g.Until.Format("2006-01-02 15:04"))
	}
	for _, id := range g.Jobs {
		j, ok := byID[id]
		if !ok {
			j = job{ID: id, Speed: missing}
		}
		to.Jobs = append(to.Jobs, j)
	}
	return to
}

func jobOf(j *api.Job, now time.Time) job {
	to := job{
		ID: j.ID, Name: cmp.Or(j.Name, j.Kind), User: j.User, State: j.State.String(), GPUs: missing, Memory: missing, Speed: speed(j), Progress: missing, When: missing,
	}
	if len(j.GPUs) > 0 {
		to.GPUs = strings.Trim(fmt.Sprint(j.GPUs), "[]")
	} else if j.Width > 1 {
		to.GPUs = fmt.Sprintf("%d wanted", j.Width)
	}
	if j.Reserved > 0 {
		to.Memory = j.Reserved.String()
		if peak, ok := j.Peak.Get(); ok {
			to.Memory = peak.String() + " of " + to.Memory
		}
	}
	if step, ok := j.Step.Get(); ok {
		to.Progress = strconv.FormatInt(step, 10)
		if total, ok := j.Total.Get(); ok && total > 0 {
			to.Progress, to.Part = fmt.Sprintf("%d/%d", step, total), part(float64(step), float64(total))
		}
	}
	since, when, between := j.Submitted, j.Starts, j.StartsIn
	if !j.Started.IsZero() && j.Why == "" {
		since, when, between = j.Started, j.Ends, j.EndsIn
	}
	to.For = span(now.Sub(since))
	if at, ok := when.Get(); ok {
		to.When = "in " + span(at.Sub(now))
		if b, ok := between.Get(); ok && b.Hi.After(b.Lo) {
			to.When += " (" + span(b.Lo.Sub(now)) + "–" + span(b.Hi.Sub(now)) + ")"
		}
	}
	to.Note = j.Why
	if j.Stops > 0 && j.Started.IsZero() {
		to.Note = j.Stopped + "; " + to.Note
	}
	if len(j.Beside) > 0 {
		to.Note = "beside " + strings.Join(j.Beside, ", ")
	}
	return to
}

// speed is the measured speed, and what it was predicted to be.
func speed(j *api.Job) string {
	seen, predicted := missing, missing
	if x, ok := j.Speed.Get(); ok {
		seen = percent(x)
	}
	if x, ok := j.Predicted.Get(); ok {
		predicted = percent(x)
	}
	if seen == missing && predicted == missing {
		return missing
	}
	return seen + " (predicted " + predicted + ")"
}

// meanWait is how long the jobs that started had waited, on average.
func meanWait(u *api.User) string {
	if u.Started == 0 {
		return missing
	}
	return span(time.Duration(u.WaitSeconds / float64(u.Started) * float64(time.Second)))
}

// part is a percentage from 0 to 100.
func part(x, of float64) int {
	if of <= 0 {
		return 0
	}
	return int(min(100, max(0, 100*x/of)) + 0.5)
}

func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

func hours(seconds float64) string { return fmt.Sprintf("%.1f h", seconds/3600) }

// span is a time as people say it; one that is over is 0s.
func span(d time.Duration) string {
	d = max(0, d)
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
