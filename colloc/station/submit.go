package station

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/colloc/wire"
	"example.com/colloc/profile"
)

// submit is POST /v1/jobs.
func (s *Station) submit(r *http.Request, u peer.User) (any, error) {
	var in api.Submission
	if err := wire.Read(r, &in); err != nil {
		return nil, err
	}
	switch n := len(in.Tasks); {
	case n == 0:
		return nil, api.Errorf(api.Invalid, "tasks", "give at least one", "there is none")
	case n > api.MaxTasks:
		return nil, api.Errorf(api.TooLarge, "tasks", "submit in several requests", "%d tasks, want at most %d", n, api.MaxTasks)
	}
	most, err := s.mostOf(u)
	if err != nil {
		return nil, err
	}
	tasks := make([]runner.Task, len(in.Tasks))
	for i := range in.Tasks {
		t, err := s.task(&in.Tasks[i], u)
		if err == nil {
			err = lower(t.Owner, most)
		}
		if err != nil {
			err.Where = strings.TrimSuffix(fmt.Sprintf("tasks[%d].%s", i, err.Where), ".")
			return nil, err
		}
		tasks[i] = t
	}
	s.submitting.Lock()
	defer s.submitting.Unlock()
	if err := s.mayQueue(s.uidFor(u), len(tasks)); err != nil {
		return nil, err
	}
	s.share(u.UID, tasks)
	if err := s.number(tasks); err != nil {
		return nil, err
	}
	in.Tasks = nil
	release(len(tasks)) // the text of the request is gone, and what is queued needs its room
	defer release(len(tasks))
	ids, err := s.runner.Submit(tasks...)
	if err != nil {
		return nil, refused(err)
	}
	s.last += len(tasks)
	return api.IDs{IDs: ids}, nil
}

// release gives memory back that a request of so many tasks took.
func release(tasks int) {
	const many = api.MaxTasks / 10
	if tasks >= many {
		debug.FreeOSMemory()
	}
}

// lower gives an owner no more than a user's own limits.
func lower(o *runner.Owner, most map[string]runner.Limit) *api.Error {
	limits, err := runner.Lower(o.Limits, most)
	if err != nil {
		return &api.Error{Code: api.Forbidden, Where: "limits", What: err.Error(), Do: "want no more than: ulimit -a, ulimit -H -a"}
	}
	o.Limits = limits
	return nil
}

// share lets tasks with the same environment have it in memory once: that of a shell is
// some kilobytes, and the same for many.
func (s *Station) share(uid uint32, tasks []runner.Task) {
	last := s.environments[uid]
	for i := range tasks {
		if slices.Equal(tasks[i].Env, last) {
			tasks[i].Env = last
		}
		last = tasks[i].Env
	}
	s.environments[uid] = last
}

// number gives tasks the next IDs, and those that they wait for in the same request.
func (s *Station) number(tasks []runner.Task) error {
	for i := range tasks {
		tasks[i].ID = strconv.Itoa(s.last + 1 + i)
		for n := range tasks[i].After {
			d := &tasks[i].After[n]
			if text, here := strings.CutPrefix(d.Task, "#"); here {
				k, err := strconv.Atoi(text)
				if err != nil || k < 1 || k > len(tasks) {
					return api.Errorf(api.Invalid, fmt.Sprintf("tasks[%d].after", i), fmt.Sprintf("want #1 to #%d", len(tasks)), "%.50q is no task of this request", d.Task)
				}
				d.Task = strconv.Itoa(s.last + k)
			}
		}
	}
	return nil
}

// lastNumber is the largest number that a job has for its ID.
func lastNumber(r *runner.Runner) (last int, err error) {
	note := func(record *runner.Record) {
		if n, err := strconv.Atoi(record.Task.ID); err == nil {
			last = max(last, n)
		}
	}
	err = r.History(0, func(record runner.Record) bool { note(&record); return false })
	for _, record := range r.Records() {
		note(&record)
	}
	return last, err
}

// refused says what a runner did not like about tasks.
func refused(err error) error {
	if errors.Is(err, runner.ErrClosed) {
		return api.Errorf(api.Unavailable, "", "try again", "the station is ending")
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return api.Errorf(api.Unavailable, "", "make room on the disk of the station's folder and try again", "disk full: nothing is queued, what runs goes on: %v", err)
	}
	if strings.Contains(err.Error(), "queue file") {
		return err
	}
	return api.Errorf(api.Invalid, "tasks", "", "%s", strings.TrimPrefix(err.Error(), "runner: submit: "))
}

// mayQueue is an error if a user would have too many tasks in the queue. Nobody else submits
// meanwhile.
func (s *Station) mayQueue(uid uint32, n int) error {
	most := cmp.Or(s.config.Limits[uid].MaxQueued, s.config.MaxQueued)
	if s.last+n <= most { // as many as there ever were
		return nil
	}
	queued := 0
	for _, r := range s.runner.Records() {
		if r.State == runner.Queued && uidOf(&r) == uid {
			queued++
		}
	}
	if queued+n > most {
		return api.Errorf(api.OverLimit, "tasks", "wait until some have started, or cancel some",
			"%d tasks of %s are queued, and %d more are beyond the %d that one user may have", queued, s.names.Of(uid), n, most)
	}
	return nil
}

// task checks a task and makes it the runner's.
func (s *Station) task(in *api.Task, u peer.User) (t runner.Task, fault *api.Error) {
	size := 0
	for _, word := range append(in.Command, in.Env...) {
		size += len(word) + 1
	}
	priority, known := classes()[cmp.Or(in.Class, NormalClass)]
	for _, c := range []struct {
		ok                bool
		where, what, help string
	}{
		{plain(in.Name), "name", fmt.Sprintf("%.50q is no name", in.Name), fmt.Sprintf("want at most %d bytes of printable text", api.MaxName)},
		{plain(in.Kind), "kind", fmt.Sprintf("%.50q is no kind", in.Kind), fmt.Sprintf("want at most %d bytes of printable text", api.MaxName)},
		{profile.Bytes(size) <= api.MaxArguments, "command", fmt.Sprintf("command and environment have %d bytes", size), fmt.Sprintf("want at most %d", int64(api.MaxArguments))},
		{filepath.IsAbs(in.Dir) && !strings.ContainsRune(in.Dir, 0), "dir", fmt.Sprintf("%.100q", in.Dir), "want an absolute path"},
		{in.Umask.Or(0) <= 0o777, "umask", fmt.Sprintf("%o", in.Umask.Or(0)), "want 0 to 777, octal"},
		{len(in.After) <= api.MaxAfter, "after", fmt.Sprintf("%d jobs", len(in.After)), fmt.Sprintf("want at most %d", api.MaxAfter)},
		{in.Retries <= api.MaxRetries, "retries", strconv.Itoa(in.Retries), fmt.Sprintf("want at most %d", api.MaxRetries)},
		{len(in.Progress.Pattern) <= api.MaxName*5, "progress", "the pattern is too long", "want at most 1000 bytes"},
		{!math.IsNaN(in.MaxSlowdown), "max_slowdown", "NaN", "want a number"},
		{known, "class", fmt.Sprintf("%.50q", in.Class), "want low, normal or high"},
	} {
		if !c.ok {
			return t, &api.Error{Code: api.Invalid, Where: c.where, What: c.what, Do: c.help}
		}
	}
	if in.Class == highClass && !s.governs(u) && !s.config.Limits[u.UID].High {
		return t, &api.Error{Code: api.Forbidden, Where: "class", What: "you may not submit in class high: it comes before all others' jobs", Do: "want normal or low, or ask whoever runs the station"}
	}
	owner, command := s.ownerOf(u, in), in.Command
	if most := cmp.Or(s.config.Limits[owner.UID].MaxGPUs, s.config.MaxGPUs); most > 0 && in.GPUs > most {
		return t, &api.Error{Code: api.Invalid, Where: "gpus", What: fmt.Sprintf("it takes %d GPUs, and one user may have %d at once here (-max-gpus or -limit of colloc station serve)", in.GPUs, most), Do: fmt.Sprintf("want at most %d, or ask whoever runs the station", most)}
	}
	if s.config.Rewrite != nil && !in.Shell && len(command) > 0 {
		command = s.config.Rewrite(command)
	}
	restart := profile.Opt[time.Duration]{}
	if cost, ok := in.Restart.Get(); ok {
		restart = profile.Some(time.Duration(cost))
	}
	return runner.Task{
		Profile: s.learner.Profile(s.config.kind(owner.UID, in.Kind)),
		Name:    in.Name, Kind: in.Kind, Owner: &owner, Command: command, Shell: in.Shell, Dir: in.Dir, Env: in.Env,
		GPUs: in.GPUs, Memory: in.Memory, Alone: in.Alone, MaxSlowdown: in.MaxSlowdown, CPUs: in.CPUs,
		Timeout: time.Duration(in.Time), Priority: priority, After: in.After, Retries: in.Retries, Restart: restart, Held: in.Held, Progress: in.Progress,
	}, nil
}

// NormalClass is the priority class of those who ask for none.
const NormalClass = "normal"

// highClass is for those alone who may pass all others.
const highClass = "high"

// classes are the priority classes: of two tasks of different classes the one of the
// higher starts first.
func classes() map[string]int { return map[string]int{"low": -1, NormalClass: 0, highClass: 1} }

// plain reports whether a text may stand in a table.
func plain(text string) bool {
	return len(text) <= api.MaxName && utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
