package progress

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/colloc/internal/regular"
	"example.com/colloc/profile"
)

// Reading is what is known of a run's progress.
type Reading struct {
	// Step is the number of steps done, Total that of all.
	Step, Total profile.Opt[int64]
	// StepTime is the time of a step, where the task tells it.
	StepTime profile.Opt[time.Duration]
	// Restarts is how often the count of steps began anew or was replaced by
	// another one. Steps with a restart between them say nothing of a speed.
	Restarts int
	// Restart is what the task says that it costs to stop it and start it again.
	Restart profile.Opt[time.Duration]
	// Matched says that the pattern matched, or that the file told something.
	Matched bool
}

const (
	chunk = 1 << 20 // what is read of an output at a time
	// What is read between two looks. Of more, only the end is read.
	least, most = 4 << 10, 32 << 20
	// work is how many bytes are looked at in one look, times the instructions of a pattern: a second, at worst.
	work = 1 << 28
)

// Follower reads the progress of one run. It is safe for concurrent use.
type Follower struct {
	mu       sync.Mutex
	pattern  *Pattern
	log      string
	steps    string
	offset   int64
	rest     []byte // an unfinished line
	counters counters
	read     Reading
}

// Begin follows a run from its start: the output in the file log by the pattern or,
// without one, the file steps.
func (f *Follower) Begin(pattern *Pattern, log, steps string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pattern, f.log, f.steps, f.offset, f.rest, f.counters, f.read = pattern, log, steps, 0, nil, counters{}, Reading{}
}

// Output is the file with the task's output.
func (f *Follower) Output() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log
}

// Pattern is what Begin was given.
func (f *Follower) Pattern() *Pattern {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pattern
}

// Follow reads what is new and returns what is known; at the end of the run an
// unfinished line counts. What cannot be read is no progress. Where the outputs of several runs
// are read in one look, each has its share of the time: who writes much, or has a costly
// pattern, keeps nobody waiting.
func (f *Follower) Follow(end bool, runs int) Reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.steps == "" {
		return f.read
	}
	f.followRestart()
	if f.pattern == nil {
		f.followFile()
	} else {
		f.followOutput(min(max(work/f.pattern.size/max(runs, 1), least), most))
		if end {
			f.match(f.rest)
		}
	}
	return f.read
}

// followFile reads the file that the task writes. Where it begins anew the steps
// up to its total were done, though nobody saw the last of them.
func (f *Follower) followFile() {
	var told found
	for i, field := range strings.Fields(note(f.steps)) {
		if i <= groupTotal {
			told[i] = field
		}
	}
	if step, ok := told.count(groupStep); ok {
		total, _ := told.count(groupTotal)
		if len(f.counters.all) > 0 {
			if c := &f.counters.all[f.counters.main]; step <= c.last/2 && c.total == total {
				c.last = max(c.last, total)
			}
		}
		f.count(step, total)
	}
}

// followRestart reads what a restart costs, from the file beside that of the steps: seconds, or "1m30s".
func (f *Follower) followRestart() {
	stem, ok := strings.CutSuffix(f.steps, ".steps")
	if !ok {
		return
	}
	word := strings.TrimSpace(note(stem + ".restart"))
	took, err := time.ParseDuration(word)
	if s, isNumber := strconv.ParseFloat(word, 64); isNumber == nil && s >= 0 && s < longest {
		took, err = time.Duration(s*float64(time.Second)), nil
	}
	if err == nil && took >= 0 && took < longest*time.Second {
		f.read.Restart = profile.Some(took)
	}
}

// longest is how many seconds a step or a restart may take.
const longest = 1e6

// note is the beginning of a file that a task writes for the runner; empty where it cannot be read. One that grows is
// emptied: it lies on the runner's disk, and only the output of a run is bounded otherwise.
func note(name string) string {
	const longest, room = 64, 64 << 10
	file, info, err := regular.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, longest))
	if info.Size() > room && err == nil {
		err = os.Truncate(name, 0)
	}
	if err != nil {
		return ""
	}
	return string(text)
}

// followOutput looks for the pattern in the lines that are new, all of them, so
// that steps and time belong together. A carriage return ends a line too: progress
// bars write nothing else. Of more than room bytes the end is read.
func (f *Follower) followOutput(room int) {
	file, info, err := regular.Open(f.log)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }() // it was only read
	end := info.Size()                  // what is written meanwhile is read the next time
	if end-f.offset > int64(room) {
		f.offset, f.rest = end-int64(min(room, chunk)), nil
		f.counters.restarts++ // who knows what was in between
	}
	for f.offset < end {
		text, err := io.ReadAll(io.NewSectionReader(file, f.offset, min(chunk, end-f.offset)))
		if err != nil || len(text) == 0 {
			return
		}
		f.offset += int64(len(text))
		f.lines(append(f.rest, text...), min(room, chunk))
	}
}

// lines takes whole lines and keeps the rest, if it is not longer than some bytes.
func (f *Follower) lines(text []byte, longest int) {
	for {
		end := bytes.IndexAny(text, "\r\n")
		if end < 0 {
			break
		}
		f.match(text[:end])
		text = text[end+1:]
	}
	if len(text) > longest {
		text = nil // no line of a program for people
	}
	f.rest = slices.Clone(text)
}

// match takes one line.
func (f *Follower) match(line []byte) {
	told, ok := f.pattern.find(line)
	if !ok {
		return
	}
	if epochs, ok := told.count(groupEpochs); ok {
		f.counters.epochs = epochs
	}
	if step, ok := told.count(groupStep); ok {
		total, _ := told.count(groupTotal)
		f.count(step, total)
	}
	if s, err := strconv.ParseFloat(told[groupSeconds], 64); err == nil {
		f.read.seconds(s)
	}
	if rate, err := strconv.ParseFloat(told[groupRate], 64); err == nil && rate > 0 {
		f.read.seconds(1 / rate)
	}
}

// count takes a step of the count with a total.
func (f *Follower) count(step, total int64) {
	f.counters.take(step, total)
	main := &f.counters.all[f.counters.main]
	f.read.Step, f.read.Total = profile.Some(main.done()), f.counters.total()
	f.read.Restarts, f.read.Matched = f.counters.restarts, true
}

// seconds stores the time of a step, if it can be one.
func (r *Reading) seconds(s float64) {
	const shortest = 1e-9
	if s >= shortest && s < longest {
		r.StepTime = profile.Some(time.Duration(s * float64(time.Second)))
		r.Matched = true
	}
}
