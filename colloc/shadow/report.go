package shadow

import (
	"fmt"
	"math"
	"strings"
	"time"

	"example.com/colloc/internal/plain"
	"example.com/colloc/packer"
	"example.com/colloc/predict"
)

const (
	format  = "colloc shadow"
	version = 1
	// mostWorst is how many misses a report names.
	mostWorst = 10
)

// Report is what a [Shadow] found. Its JSON form is stable: Version grows when a field
// changes its meaning.
type Report struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// From and To are the first and the last time that was told.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Rounds counts the decisions, Tasks the tasks heard of. Of these tasks Started is
	// how often the site started one, Ended how many ended, and Died how many of them
	// died for lack of memory. Forgotten were dropped, because they were too many.
	Rounds    int `json:"rounds"`
	Tasks     int `json:"tasks"`
	Started   int `json:"started"`
	Ended     int `json:"ended"`
	Died      int `json:"died"`
	Forgotten int `json:"forgotten"`
	// Choices compares each start with the last decision about the task.
	Choices Choices `json:"choices"`
	// Earlier are the starts that colloc would have made before the site did.
	Earlier Earlier `json:"earlier"`
	// Refused are the starts that colloc would not have made, by the limit that
	// forbids them, most frequent first.
	Refused []Refusal `json:"refused"`
	// Speeds and Memory compare predictions with measurements.
	Speeds Speeds `json:"speeds"`
	Memory Memory `json:"memory"`
	// Worst are the speeds that were predicted worst, at most 10, worst first.
	Worst []Miss `json:"worst"`
}

// Choices counts starts; all but SameGPUs add up to [Report].Started.
type Choices struct {
	// SameGPUs: on exactly the GPUs that colloc would have taken.
	SameGPUs int `json:"same_gpus"`
	// BothShare: beside others, as colloc would; BothAlone: on a GPU of its own, as
	// colloc would; OnlyColloc and OnlySite: one of the two lets it share.
	BothShare  int `json:"both_share"`
	BothAlone  int `json:"both_alone"`
	OnlyColloc int `json:"only_colloc_shares"`
	OnlySite   int `json:"only_site_shares"`
	// CollocWaits: colloc would have let it wait, or was not asked.
	CollocWaits int `json:"colloc_waits"`
}

// Earlier is a sum over starts, each taken by itself: had colloc started the one, it
// might not have had room for the next. An upper bound, not a forecast.
type Earlier struct {
	Tasks   int     `json:"tasks"`
	Seconds float64 `json:"seconds"`
}

// Refusal is a limit that starts of the site broke.
type Refusal struct {
	Code packer.ReasonCode `json:"code"`
	// Tasks counts the starts, Died those of them that ran out of memory.
	Tasks int `json:"tasks"`
	Died  int `json:"died"`
}

// Speeds compares predicted speeds with those seen in sets of two and more.
type Speeds struct {
	Seen int `json:"seen"`
	// MAE is the mean absolute error, Bias the mean of seen less predicted: above 0
	// tasks are faster than predicted.
	MAE  float64 `json:"mae"`
	Bias float64 `json:"bias"`
	// Covered is the share within the predicted interval; Confidence what was promised.
	Covered    float64 `json:"covered"`
	Confidence float64 `json:"confidence"`
}

// Memory compares what colloc would reserve with peaks.
type Memory struct {
	Seen int `json:"seen"`
	// Under counts the tasks that needed more than would have been reserved.
	Under int `json:"under"`
	// Waste is the mean share of a reservation that was not used, of the others.
	Waste float64 `json:"waste"`
}

// Miss is a speed that was predicted badly.
type Miss struct {
	GPU string `json:"gpu"`
	// Task is the type of the task, Beside are those of its company.
	Task      string           `json:"task"`
	Beside    []string         `json:"beside"`
	Seen      float64          `json:"seen"`
	Predicted predict.Estimate `json:"predicted"`
}

func (m *Miss) size() float64 { return math.Abs(m.Seen - m.Predicted.Value) }

// String says it in lines, each of which ends in a newline.
func (r Report) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if r.To.IsZero() {
		line("colloc beside the scheduler, deciding nothing; no task was seen")
	} else {
		line("colloc beside the scheduler, %v to %v, deciding nothing", r.From.Format(time.DateTime), r.To.Format(time.DateTime))
	}
	line("%d rounds, %d tasks: %d starts, %d ended, of them %d out of memory", r.Rounds, r.Tasks, r.Started, r.Ended, r.Died)
	if r.Forgotten > 0 {
		line("%d tasks were forgotten, because too many were open", r.Forgotten)
	}
	c := r.Choices
	line("starts: %d share and %d are alone as with colloc; %d would share, %d would not; %d would wait; %d on the same GPUs",
		c.BothShare, c.BothAlone, c.OnlyColloc, c.OnlySite, c.CollocWaits, c.SameGPUs)
	if r.Earlier.Tasks > 0 {
		line("%d would have started earlier, by %v on average, each taken by itself", r.Earlier.Tasks,
			time.Duration(r.Earlier.Seconds/float64(r.Earlier.Tasks)*float64(time.Second)).Round(time.Second))
	}
	for _, f := range r.Refused {
		line("%d starts that colloc refuses (%v), of them %d died", f.Tasks, f.Code, f.Died)
	}
	if s := r.Speeds; s.Seen > 0 {
		line("speeds: %d seen; off by %.3f, %+.3f on average; %.0f %% within the interval, %.0f %% were promised", s.Seen, s.MAE, s.Bias, 100*s.Covered, 100*s.Confidence)
	}
	if m := r.Memory; m.Seen > 0 {
		line("memory: %d peaks; %d beyond what would be reserved, else %.0f %% of it unused", m.Seen, m.Under, 100*m.Waste)
	}
	for _, m := range r.Worst {
		who := plain.Text(fmt.Sprintf("%s on %s beside %s", m.Task, m.GPU, strings.Join(m.Beside, ", "))) // names that users gave
		line("  %s: %.2f, predicted %.2f (%.2f to %.2f)", who, m.Seen, m.Predicted.Value, m.Predicted.Lo, m.Predicted.Hi)
	}
	return b.String()
}
