package protocol

// Result is how good one model is.
type Result struct {
	Model   string
	N       int // predictions
	Metrics []Metric
	Picture
}

// Picture is what can be drawn of colloc's own result; empty for the others.
type Picture struct {
	Unit     string
	Points   []Point
	Interval bool   // the points tell whether their interval held
	Risks    []Risk // of running out of memory
}

// Point is one prediction beside what was measured, in the unit of the set.
type Point struct {
	Seen, Predicted float64
	Covered         bool // within the interval, if the model gave one
}

// Risk is the asked probability of running out of memory and the share that did.
type Risk struct{ Asked, Seen float64 }

// Metric is one named number.
type Metric struct {
	Name  string
	Value float64
}

// Add appends a metric to the result.
func (r *Result) Add(name string, value float64) {
	r.Metrics = append(r.Metrics, Metric{name, value})
}
