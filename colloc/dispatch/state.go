package dispatch

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// version is that of the state's form.
const version = 1

// book is the JSON form of a Dispatcher.
type book struct {
	Version int            `json:"version"`
	Now     *time.Duration `json:"now_ns,omitempty"` // missing before the first call
	Jobs    []page         `json:"jobs"`             // in the order of arrival
	GPUs    []*cardPage    `json:"gpus"`             // by index; null was removed
	Grants  []uint64       `json:"grants,omitempty"`
	Leaves  []uint64       `json:"leaves,omitempty"`
	Runs    uint64         `json:"runs"` // the highest number
	Losses  []Action       `json:"losses,omitempty"`
	Users   []userPage     `json:"users,omitempty"` // by name
	Mean    float64        `json:"mean,omitempty"`
	Ended   int            `json:"ended,omitempty"`
	Stale   bool           `json:"stale,omitempty"`

	Floors map[string]profile.Bytes `json:"floors_bytes,omitempty"`
	Online json.RawMessage          `json:"online,omitempty"` // what the Scheduler found out; missing is nothing
}

// page is a job.
type page struct {
	Task      colloc.Task                `json:"task"`
	Unlimited bool                       `json:"unlimited,omitempty"` // MaxSlowdown is +Inf, which JSON cannot say
	User      string                     `json:"user,omitempty"`
	Left      profile.Opt[time.Duration] `json:"left_ns,omitzero"`
	Done      profile.Opt[time.Duration] `json:"done_ns,omitzero"`
	Restart   profile.Opt[time.Duration] `json:"restart_ns,omitzero"`
	After     []Dependency               `json:"after,omitempty"`
	Held      bool                       `json:"held,omitempty"`
	Over      How                        `json:"over,omitzero"`
	Trials    trials                     `json:"trials,omitzero"`
	Shuns     []shun                     `json:"shuns,omitempty"`
	Guess     profile.Bytes              `json:"guess_bytes,omitempty"`
	Bars      []string                   `json:"bars,omitempty"`
	Came      time.Duration              `json:"came_ns,omitempty"`
	Began     bool                       `json:"began,omitempty"`
	Tier      int                        `json:"tier,omitempty"`
	Shunned   []int                      `json:"shunned,omitempty"`
	Refused   int                        `json:"refused,omitempty"`
	Rest      time.Duration              `json:"rest_ns,omitempty"`
	Fixed     bool                       `json:"fixed,omitempty"`
	Runs      []runPage                  `json:"runs,omitempty"` // by number; the last may be the present one
}

// runPage is a run.
type runPage struct {
	Number    uint64            `json:"number"`
	GPUs      []string          `json:"gpus"`
	Phase     phase             `json:"phase"`
	Mechanism profile.Mechanism `json:"mechanism"`
	Speed     float64           `json:"speed,omitempty"`
	Gain      float64           `json:"gain,omitempty"`
	Due       time.Duration     `json:"due_ns,omitempty"`
	Since     time.Duration     `json:"since_ns,omitempty"`
	Vain      bool              `json:"vain,omitempty"`
	Asked     bool              `json:"asked,omitempty"`
	Why       string            `json:"why,omitempty"`
	Stays     int               `json:"stays,omitempty"`
	Until     time.Duration     `json:"until_ns,omitempty"`
}

// cardPage is a GPU.
type cardPage struct {
	GPU     colloc.GPU    `json:"gpu"`
	Machine int           `json:"machine,omitempty"`
	Failed  bool          `json:"failed,omitempty"`
	Drained bool          `json:"drained,omitempty"`
	Foreign profile.Bytes `json:"foreign_bytes,omitempty"`

	Reserved []Reservation `json:"reserved,omitempty"`
}

// State is all that must survive a restart of the body, as JSON, for [Restore]. The same books
// give the same bytes. O(jobs + GPUs).
func (d *Dispatcher) State() ([]byte, error) {
	b := book{Version: version, Runs: d.runs, Losses: d.losses, Users: d.userPages(), Mean: d.mean, Ended: d.ended, Stale: d.stale, Jobs: []page{}, GPUs: []*cardPage{}}
	if d.begun {
		b.Now = &d.now
	}
	of := make(map[string][]runPage, len(d.lives))
	for _, n := range d.numbers() {
		r := d.lives[n]
		of[r.job] = append(of[r.job], runPage{r.number, r.gpus, r.phase, r.mechanism, r.speed, r.gain, r.due, r.since, r.vain, r.asked, r.why, r.stays, r.until})
	}
	for _, e := range d.order {
		if !e.gone {
			b.Jobs = append(b.Jobs, e.page(of[e.ID]))
		}
	}
	for _, c := range d.slots {
		if c == nil {
			b.GPUs = append(b.GPUs, nil)
			continue
		}
		b.GPUs = append(b.GPUs, &cardPage{c.gpu, c.machine, c.failed, c.drained, c.foreign, c.reserved})
	}
	for _, r := range d.grants {
		if r.phase == granted {
			b.Grants = append(b.Grants, r.number)
		}
	}
	for _, r := range d.leaves {
		b.Leaves = append(b.Leaves, r.number)
	}
	found, err := d.online.State()
	if err != nil {
		return nil, fmt.Errorf("dispatch: state: %w", err)
	}
	b.Floors, b.Online = d.floors, found
	data, err := json.Marshal(&b)
	if err != nil {
		return nil, fmt.Errorf("dispatch: state: %w", err)
	}
	return data, nil
}

func (e *entry) page(runs []runPage) page {
	p := page{
		Task: e.Task, User: e.User, Left: e.Left, Done: e.Done, Restart: e.Restart, After: e.After,
		Held: e.held, Over: e.over, Trials: e.trials, Shuns: e.shuns, Runs: runs,
		Guess: e.guess, Bars: e.bars, Came: e.came, Began: e.began, Tier: e.tier, Shunned: e.shunned, Refused: e.refused, Rest: e.rest, Fixed: e.Fixed,
	}
	if e.over != 0 { // it starts nowhere any more
		p.Shunned = nil
	}
	if math.IsInf(p.Task.MaxSlowdown, 1) {
		p.Task.MaxSlowdown, p.Unlimited = 0, true
	}
	return p
}
