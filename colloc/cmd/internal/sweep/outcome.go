package sweep

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"example.com/colloc/colloc/cmd/internal/joblog"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/internal/plain"
	"example.com/colloc/internal/regular"
)

// report sums the sweep up.
func (s *sweep) report(now time.Time) *screen.Report {
	v := s.look(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	rep := &screen.Report{
		Tasks: len(s.jobs), OK: v.Count.OK, Failed: v.Count.Failed, Cancelled: v.Count.Cancelled, Waiting: v.Count.Running + v.Count.Waiting,
		GPUs: len(v.GPUs), Elapsed: v.Elapsed, Together: s.together, Recoveries: s.recoveries, Retries: s.retries,
	}
	free, known := make([]time.Duration, max(1, len(v.GPUs))), s.known() // when each GPU would be
	for i := range v.Records {
		r := &v.Records[i]
		if r.State == runner.Failed || r.State == runner.Cancelled {
			rep.Failures = append(rep.Failures, screen.Failure{Task: r.Task.ID, Status: joblog.StatusOf(r), Err: r.Err, Log: s.output(r)})
		}
		if r.State != runner.Succeeded {
			continue
		}
		if r.Started.Before(s.started) {
			continue // part of it, or all, is not in Elapsed
		}
		timing := known[s.kindOf(r)].Timing
		d, from := timeAlone(r, &timing)
		switch from {
		case measuredAlone:
			rep.Measured++
		case measuredRate:
			rep.Rate++
		case estimated:
			rep.Estimated++
		}
		queueUp(free, r.Task.GPUs, d)
	}
	rep.Alone, rep.Earlier = slices.Max(free), rep.OK-rep.Compared()
	return rep
}

// queueUp lets a task have the GPUs that are free first, all from when the last of them is.
func queueUp(free []time.Duration, gpus int, d time.Duration) {
	slices.Sort(free)
	mine := free[:min(max(1, gpus), len(free))]
	end := mine[len(mine)-1] + d
	for i := range mine {
		mine[i] = end
	}
}

// lastWords says where the output of the task is that failed last, and what it ends with;
// nothing if nobody wrote any. mu is held.
func (s *sweep) lastWords() string {
	const most = 1 << 10
	text, err := regular.Tail(s.failed.Log, most)
	text = bytes.TrimSpace(text)
	if err != nil || len(text) == 0 {
		return ""
	}
	line := text[bytes.LastIndexByte(text, '\n')+1:]
	return fmt.Sprintf("; the output of %s is %s and ends with: %s", s.failed.Task.ID, s.output(&s.failed), plain.Text(string(line)))
}

// output is the file with the output of a task's last run, as people find it.
func (s *sweep) output(r *runner.Record) string {
	if r.Log == "" {
		return ""
	}
	return filepath.Join(s.o.logs, r.Task.ID+".log")
}
