package online

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/lifetime"
	"example.com/colloc/packer/internal/rollout"
	"example.com/colloc/profile"
)

// state is the JSON form of what a Scheduler found out.
type state struct {
	Now     *time.Duration `json:"now_ns,omitempty"` // missing before the first call
	Dated   bool           `json:"dated,omitempty"`
	Turns   int64          `json:"turns"`
	Idles   int64          `json:"idles"`
	Trying  []int          `json:"trying"`
	Rule    int            `json:"rule"`
	Longest int64          `json:"longest_queue_ms,omitempty"`
	Came    arrivalPage    `json:"arrivals"`
	Lives   lifetime.State `json:"lives"`
	Kinds   []*kindPage    `json:"kinds"` // by number; null is free
	Tasks   []taskPage     `json:"tasks"` // by arrival
	Leaving []workPage     `json:"leaving,omitempty"`
	GPUs    []*slotPage    `json:"gpus"` // by index; null was removed
}

// kindPage is a kind. Task is missing where there is one task and Kind is empty.
type kindPage struct {
	Task *packer.Task  `json:"task,omitempty"`
	Idle int64         `json:"idle,omitempty"`
	Peak profile.Bytes `json:"peak_bytes,omitempty"`
}

// workPage is how far a task is.
type workPage struct {
	Kind string `json:"kind,omitempty"` // of one that leaves
	Left int64  `json:"left"`
	Done int64  `json:"done,omitempty"`
	More int64  `json:"again,omitempty"`
	Rate int64  `json:"rate,omitempty"`
	Told bool   `json:"told,omitempty"`
}

// arrivalPage is arrivals.
type arrivalPage struct {
	Tasks int           `json:"tasks"`
	Last  time.Duration `json:"last_ns"`
	Gap   time.Duration `json:"gap_ns"`
}

// taskPage is a task.
type taskPage struct {
	ID     string        `json:"id"`
	Kind   int32         `json:"kind"`
	Turn   int64         `json:"turn"`
	Memory profile.Bytes `json:"memory_bytes"`
	workPage
	Before   workPage      `json:"before,omitzero"`
	Since    time.Duration `json:"since_ns,omitempty"`
	Breaks   int           `json:"breaks,omitempty"`
	Moves    int           `json:"moves,omitempty"`
	Passed   int           `json:"passed,omitempty"`
	Waited   int64         `json:"waited_ms,omitempty"`
	Claim    profile.Bytes `json:"claim_bytes,omitempty"`
	Known    bool          `json:"known,omitempty"`
	Fixed    bool          `json:"fixed,omitempty"`
	Strained bool          `json:"strained,omitempty"`
}

// slotPage is a GPU.
type slotPage struct {
	Class     int32    `json:"class"`
	Mechanism int      `json:"mechanism"`
	Runs      []string `json:"runs,omitempty"` // in the order of their kinds
}

func (p *progress) page() workPage { return workPage{Left: p.left, Done: p.done, More: p.again} }

// State is what a Scheduler found out and decided, as JSON, for RestoreState: how far tasks are and in
// which turn, what was seen of memory, which lengths and rules it has learned. What it was told, GPUs
// and tasks and what is held, forbidden, foreign or out of service, is the caller's to keep.
// O(tasks + GPUs + kinds).
func (s *Scheduler) State() ([]byte, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	for _, e := range s.order {
		s.settle(e)
	}
	for _, e := range s.leaving {
		s.settle(e)
	}
	st := state{
		Dated: s.dated, Turns: s.turns, Idles: s.idles, Trying: s.trying, Rule: s.rule, Longest: s.longest, Came: arrivalPage{s.came.tasks, s.came.last, s.came.gap}, Lives: s.lives.State(),
		Kinds: []*kindPage{}, Tasks: []taskPage{}, GPUs: []*slotPage{},
	}
	if s.begun {
		st.Now = &s.now
	}
	for _, l := range s.like {
		switch {
		case l.task == nil:
			st.Kinds = append(st.Kinds, nil)
		case l.task.Kind == "":
			st.Kinds = append(st.Kinds, &kindPage{})
		default:
			st.Kinds = append(st.Kinds, &kindPage{l.task, l.idle, l.peak})
		}
	}
	for _, e := range s.order {
		st.Tasks = append(st.Tasks, e.page())
	}
	for _, e := range s.leaving {
		w := e.progress.page()
		w.Kind, w.Rate, w.Told = e.Kind, e.rate, e.told
		st.Leaving = append(st.Leaving, w)
	}
	for g := range s.slots {
		c := &s.slots[g]
		if c.state == removed {
			st.GPUs = append(st.GPUs, nil)
			continue
		}
		p := &slotPage{Class: c.class, Mechanism: c.mech}
		for _, e := range c.runs {
			p.Runs = append(p.Runs, e.ID)
		}
		st.GPUs = append(st.GPUs, p)
	}
	data, err := json.Marshal(&st)
	if err != nil {
		return nil, fmt.Errorf("packer: scheduler: state: %w", err)
	}
	return data, nil
}

func (e *entry) page() taskPage {
	p := taskPage{
		ID: e.ID, Kind: e.kind, Turn: e.turn, Memory: e.Memory, workPage: e.progress.page(), Before: e.before.page(),
		Since: e.since, Breaks: e.breaks, Moves: e.moves, Passed: e.passed, Waited: e.waited, Claim: e.claim, Known: e.known, Fixed: e.fixed, Strained: e.strained,
	}
	p.Rate, p.Told = e.rate, e.told
	return p
}

// RestoreState makes a Scheduler go on where another stood when it gave its State: it decides the
// same from then on. It must have been made alike, and told of the same GPUs and tasks, where they
// run, what is held, forbidden, foreign and out of service, in any order, each GPU at its index. What is no such state is an error
// that names the place; the Scheduler is of no use then.
func (s *Scheduler) RestoreState(data []byte) error {
	if err := s.ready(); err != nil {
		return err
	}
	var st state
	err := json.Unmarshal(data, &st)
	if err == nil {
		err = s.restore(&st)
	}
	if err != nil {
		return fmt.Errorf("packer: scheduler: state: %w", err)
	}
	return nil
}

func (s *Scheduler) restore(st *state) error {
	now := profile.Opt[time.Duration]{}
	if s.begun = st.Now != nil; s.begun {
		s.now, now = *st.Now, profile.Some(*st.Now)
	}
	all := slices.Sorted(slices.Values(st.Trying))
	if now.Or(0) < 0 || st.Turns < int64(len(st.Tasks)) || st.Idles < 0 || st.Rule < plain || st.Rule >= len(s.rules) || len(all) != len(s.rules) || st.Longest < 0 ||
		min(st.Came.Last, st.Came.Gap, time.Duration(st.Came.Tasks)) < 0 {
		return fmt.Errorf("now_ns is %v, turns %d, idles %d, rule %d of %d", now, st.Turns, st.Idles, st.Rule, len(st.Trying))
	}
	for i, k := range all {
		if i != k {
			return fmt.Errorf("trying: rule %d is missing", i)
		}
	}
	s.told = s.told[:0]
	s.dated, s.turns, s.idles, s.trying, s.rule, s.longest = st.Dated, st.Turns, st.Idles, st.Trying, st.Rule, st.Longest
	s.came = arrivals{tasks: st.Came.Tasks, last: st.Came.Last, gap: st.Came.Gap}
	lives, err := lifetime.Restored(&st.Lives)
	if err != nil {
		return err
	}
	s.lives = lives
	if err := s.restoreKinds(st.Kinds); err != nil {
		return err
	}
	if err := s.restoreTasks(st.Tasks); err != nil {
		return err
	}
	for i := range st.Leaving {
		w := &st.Leaving[i]
		e := &entry{told: w.Told, rate: w.Rate, asOf: s.now}
		if e.Kind = w.Kind; !w.fill(&e.progress) {
			return fmt.Errorf("leaving[%d]: it has %d left and %d done", i, w.Left, w.Done)
		}
		s.leaving = append(s.leaving, e)
	}
	return s.restoreGPUs(st.GPUs)
}

// fill fills in how far a task is, and reports whether that can be.
func (w *workPage) fill(p *progress) bool {
	*p = progress{left: w.Left, done: w.Done, again: w.More}
	return min(w.Left, w.Done, w.More, w.Rate) >= 0 && max(w.Left, w.Done, w.More) <= rollout.MaxLeft && w.Rate <= 1<<32
}

func (s *Scheduler) restoreKinds(pages []*kindPage) error {
	s.like, s.spare = nil, 0
	clear(s.kinds)
	for k, p := range pages {
		l := likeness{}
		s.spare++
		if p != nil && p.Task != nil {
			if err := p.Task.Validate(); err != nil {
				return fmt.Errorf("kinds[%d]: %w", k, err)
			}
			if _, ok := s.kinds[p.Task.Kind]; ok || p.Task.Kind == "" || p.Idle < 0 || p.Peak < 0 {
				return fmt.Errorf("kinds[%d]: %q is there twice, or is none", k, p.Task.Kind)
			}
			l = likeness{task: p.Task, idle: p.Idle, peak: p.Peak}
			s.kinds[p.Task.Kind] = int32(k)
		}
		s.like = append(s.like, l)
	}
	return nil
}

func (s *Scheduler) restoreTasks(pages []taskPage) error {
	if len(pages) != len(s.order) {
		return fmt.Errorf("tasks: there are %d, and it was told of %d", len(pages), len(s.order))
	}
	s.order = s.order[:0]
	for i := range pages {
		p := &pages[i]
		e := s.entries[p.ID]
		if e == nil || slices.Contains(s.order, e) {
			return fmt.Errorf("tasks[%d]: %w: %q was not told of, or is there twice", i, ErrUnknown, p.ID)
		}
		if err := s.restoreTask(e, p); err != nil {
			return fmt.Errorf("tasks[%d]: %w", i, err)
		}
		s.order = append(s.order, e)
	}
	return nil
}

func (s *Scheduler) restoreTask(e *entry, p *taskPage) error {
	if p.Kind < 0 || int(p.Kind) >= len(s.like) {
		return fmt.Errorf("kind %d of %d", p.Kind, len(s.like))
	}
	l := &s.like[p.Kind]
	if e.Kind == "" && l.task == nil {
		like := e.Task
		like.GPUs = 0
		l.task = &like
	} else if l.task == nil || l.task.Kind != e.Kind || e.Kind == "" {
		return fmt.Errorf("kind %d is not %q", p.Kind, e.Kind)
	}
	if l.tasks++; l.tasks == 1 {
		s.spare--
	}
	if !p.fill(&e.progress) || !p.Before.fill(&e.before) || min(p.Breaks, p.Moves, p.Passed) < 0 || min(p.Waited, int64(p.Claim)) < 0 || p.Waited > rollout.MaxLeft || p.Turn < 0 || p.Turn >= s.turns || p.Since < 0 || p.Since > s.now {
		return fmt.Errorf("%d is left, %d done, turn %d", p.Left, p.Done, p.Turn)
	}
	e.kind, e.turn, e.rate, e.told, e.since = p.Kind, p.Turn, p.Rate, p.Told, p.Since
	e.breaks, e.moves, e.passed, e.known, e.fixed = p.Breaks, p.Moves, p.Passed, p.Known, p.Fixed
	if p.Strained {
		s.strain(e)
	}
	if e.asOf = s.now; e.told {
		s.told = append(s.told, e)
	}
	e.waited, e.claim = p.Waited, p.Claim
	return s.reserve(e, p.Memory)
}

func (s *Scheduler) restoreGPUs(pages []*slotPage) error {
	if len(pages) != len(s.slots) {
		return fmt.Errorf("gpus: there are %d, and it was told of %d", len(pages), len(s.slots))
	}
	s.classes, s.sizes = s.classes[:min(1, len(s.classes))], nil // what was removed is of the first
	for k := range s.classes {
		s.classes[k].gpus = 0
	}
	for g, p := range pages {
		c := &s.slots[g]
		if (p == nil) != (c.state == removed) {
			return fmt.Errorf("gpus[%d]: it was removed, or not", g)
		}
		if p == nil {
			continue
		}
		if p.Class < 0 || int(p.Class) >= len(pages) || p.Mechanism < rollout.Any || p.Mechanism > int(profile.MIG) || len(p.Runs) != len(c.runs) {
			return fmt.Errorf("gpus[%d]: class %d, mechanism %d, %d tasks", g, p.Class, p.Mechanism, len(p.Runs))
		}
		gpu := s.gpus[g]
		if int(p.Class) >= len(s.classes) || s.classes[p.Class].gpus == 0 {
			s.setClass(int(p.Class), &gpu)
		} else if !s.classes[p.Class].gpu.Alike(&gpu) {
			return fmt.Errorf("gpus[%d]: class %d is of other GPUs", g, p.Class)
		}
		s.classes[p.Class].gpus++
		c.class, c.mech = p.Class, p.Mechanism
		runs := make([]*entry, len(p.Runs))
		for i, id := range p.Runs {
			e := s.entries[id]
			if !slices.Contains(c.runs, e) || slices.Contains(runs[:i], e) || i > 0 && e.kind < runs[i-1].kind {
				return fmt.Errorf("gpus[%d].runs[%d]: %q does not run there", g, i, id)
			}
			runs[i] = e
		}
		c.runs = runs
	}
	s.ask()
	return nil
}
