package slurm

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/slurm/files"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// sight is what a task's log tells.
type sight struct {
	step        time.Duration
	peak        profile.Bytes
	outOfMemory bool
}

var (
	stepLine = regexp.MustCompile(`(?i)step[ _]time[=: ]+([0-9.]+) ?(s|ms)\b`)
	peakLine = regexp.MustCompile(`(?i)peak[ _]memory[=: ]+([0-9.]+ ?[KMGT]?i?B)\b`)
)

// look reads a log.
func look(log string) *sight {
	s := &sight{outOfMemory: strings.Contains(strings.ToLower(log), "out of memory")}
	var steps []float64
	for _, m := range stepLine.FindAllStringSubmatch(log, -1) {
		v, err := strconv.ParseFloat(m[1], 64)
		if m[2] == "ms" {
			v /= 1000
		}
		if err == nil && v > 0 && v < 1e6 {
			steps = append(steps, v)
		}
	}
	if len(steps) > 0 {
		slices.Sort(steps)
		s.step = time.Duration(steps[len(steps)/2] * float64(time.Second))
	}
	for _, m := range peakLine.FindAllStringSubmatch(log, -1) {
		if b, err := profile.ParseBytes(m[1]); err == nil {
			s.peak = max(s.peak, b)
		}
	}
	return s
}

// see reads a log; one that is not there says nothing.
func see(path string) (*sight, error) {
	text, err := files.Tail(path)
	if err != nil {
		return nil, err
	}
	return look(string(text)), nil
}

// heldLine is what a script says of the device memory that a task holds, whenever it is more.
var heldLine = regexp.MustCompile(`(?m)^colloc: peak ([0-9]+) MiB: (.*)$`)

// settled is for how long a task that runs has to hold no more than before for its peak to count.
const settled = time.Minute

// held is the most device memory that a task of a job was seen to hold, as the job's output tells; 0 is not known.
// While the job runs it counts once nothing was said for a while. An output that did not change is not read again.
func (s *sweep) held(task string, id site.JobID, runs bool, now time.Time) profile.Bytes {
	path := files.Under(s.dir, s.output(fmt.Sprint(id)))
	info, err := os.Stat(path)
	if err != nil || runs && now.Sub(info.ModTime()) < settled {
		return 0
	}
	if was, ok := s.outputs[id]; ok && was.size == info.Size() && was.changed.Equal(info.ModTime()) {
		return was.peaks[task]
	}
	text, err := files.Tail(path)
	if err != nil {
		return 0
	}
	peaks := make(map[string]profile.Bytes)
	for _, m := range heldLine.FindAllStringSubmatch(string(text), -1) {
		if mib, err := strconv.ParseInt(m[1], 10, 32); err == nil {
			name := script.Unquote(m[2])
			peaks[name] = max(peaks[name], profile.Bytes(mib)*profile.MiB)
		}
	}
	if s.outputs == nil {
		s.outputs = make(map[site.JobID]told)
	}
	s.outputs[id] = told{info.Size(), info.ModTime(), peaks}
	return peaks[task]
}

// together is the share of a task's time that its neighbours must have been
// there for its speed to be one beside them.
const together = 0.8

// outcome is what was seen of member i of a set.
func (s *sight) outcome(e *entry, set *set, i int, jobs map[site.JobID]site.JobInfo) colloc.Measurement {
	members := set.Members
	out := colloc.Measurement{Profile: e.task.Profile}
	me, ok := jobs[members[i].Job]
	if !ok || me.State == site.Forgotten {
		return out
	}
	if peak, ok := me.GPUMemory.Get(); ok && s.peak == 0 && !slices.ContainsFunc(members, func(m member) bool { return m.Task != members[i].Task && m.Job == me.ID }) {
		s.peak = peak // of a job that it has to itself
	}
	if s.peak > 0 {
		out.Peak = profile.Some(s.peak)
		out.OutOfMemory = s.outOfMemory
	}
	for k, other := range members {
		theirs := jobs[other.Job]
		if k != i && other.Job != me.ID && (overlap(me, theirs) < together || !set.on(&theirs) || !set.on(&me)) {
			return out
		}
	}
	if !e.measuredOn(set.Product) {
		return out
	}
	if speed := s.speed(e, &me); speed > 0 {
		out.Speed = profile.Some(speed)
	}
	return out
}

// speed is solo time over time in the set; 0 if it was not measured.
func (s *sight) speed(e *entry, j *site.JobInfo) float64 {
	if e.Solo == nil {
		return 0
	}
	alone, beside := time.Duration(e.Solo.StepTime.Or(0)), s.step
	if alone == 0 || beside == 0 {
		alone, beside = time.Duration(e.Solo.RunTime.Or(0)), j.Ran()
		if j.State != site.Completed {
			return 0
		}
	}
	speed := alone.Seconds() / beside.Seconds()
	if math.IsNaN(speed) || math.IsInf(speed, 0) {
		return 0
	}
	return speed
}

// on reports whether a job had the GPU that the plan meant, and no other: where
// Slurm chose another, somebody else may have been there. A job that was never
// seen with GPUs was where it was pinned, or nobody knows where.
func (s *set) on(j *site.JobInfo) bool {
	places := 0
	for k := range min(len(j.Held), len(j.Nodes)) {
		for _, h := range j.Held[k] {
			for _, index := range h.Index {
				if d := (site.Device{Node: j.Nodes[k], Index: index}); d.ID() != s.GPU {
					return false
				}
				places++
			}
		}
	}
	return places > 0 || s.Pinned
}

// measuredOn reports whether the task's solo speed is one on this product.
func (e *entry) measuredOn(product string) bool {
	if e.Solo == nil {
		return false
	}
	if (&profile.GPUModel{Name: product}).Sliced() {
		return false // a part of a card is no card
	}
	alone, ok := e.Solo.Product()
	here, known := profile.LookupGPU(product)
	return ok && known && alone.Canonical() == here.Canonical()
}

// overlap is the share of a's run during which b ran.
func overlap(a, b site.JobInfo) float64 {
	begin, end := a.Started, a.Ended
	if b.Started.After(begin) {
		begin = b.Started
	}
	if b.Ended.Before(end) {
		end = b.Ended
	}
	if a.Ran() <= 0 || b.Ran() <= 0 || !end.After(begin) {
		return 0
	}
	return float64(end.Sub(begin)) / float64(a.Ran())
}
