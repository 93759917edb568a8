package pace

import (
	"math"
	"sync"
	"sync/atomic"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Predictor predicts the solo throughput of a task on a kind of GPU relative to
// a reference card. Without measurements of the task
//
//	log pace = w_F log F + w_B log B + w_C log C, less the same of the reference
//
// with F the card's peak rate in the task's precision, B its bandwidth, C its
// FP32 rate and weights of at least 0 for each family of networks and width of
// the number format, so that a card that is better in all three is never slower.
// Convolutional networks with a batch below 64 fill a fast card less: their
// weights shrink with log batch. Of a task that was seen to keep its GPU busy a
// share u of the time, the rest is the host's and no card makes it shorter.
//
// What [Predictor.Observe] was told of a task counts more: ratios of measured
// cards are the measured ones, and other cards move with those like them.
//
// The zero value answers by the prior F^0.2 B^0.6 C^0.2 relative to
// [DefaultReference] and learns. A Predictor is safe for concurrent use: readers
// see it before or after an observation.
type Predictor struct {
	state  atomic.Pointer[state]
	writer sync.Mutex
}

func (m *Predictor) load() *state {
	if s := m.state.Load(); s != nil {
		return s
	}
	return priorState()
}

// Reference returns the canonical name of the card whose pace is 1.
func (m *Predictor) Reference() string { return m.load().reference.name }

// Pace returns the solo throughput of a task on gpu over that on the reference
// card, more than 0; some tasks pass 1 on another card. A nil profile is a task
// of which nothing is known. Of a card whose rates neither gpu nor the catalogue
// knows it says no more than that it is some card: a wide interval, Source
// Prior. Source is Measured where both cards were observed. Source.Distance
// tells how far the card's rates are from those of the data: 1 at their edge. It
// does not allocate for a product of the catalogue. O(cards observed).
func (m *Predictor) Pace(p *profile.Profile, gpu *profile.GPUModel) predict.Estimate {
	c := m.Compare(gpu, nil)
	return c.Estimate(p)
}

// Ratio returns the solo throughput of a task on a over that on b, as Pace does.
func (m *Predictor) Ratio(p *profile.Profile, a, b *profile.GPUModel) predict.Estimate {
	c := Comparison{m.load(), kindOf(a), kindOf(b)}
	return c.Estimate(p)
}

// Comparison compares two kinds of card for many tasks, as the Predictor was when
// it was made. It is a plain value and safe for concurrent use.
type Comparison struct {
	state *state
	a, b  kind
}

// Compare compares gpu with a reference card, nil with that of the Predictor. It
// does not allocate for products of the catalogue.
func (m *Predictor) Compare(gpu, reference *profile.GPUModel) Comparison {
	s := m.load()
	if reference == nil {
		return Comparison{s, kindOf(gpu), s.reference}
	}
	return Comparison{s, kindOf(gpu), kindOf(reference)}
}

// Estimate returns what [Predictor.Ratio] does.
func (c *Comparison) Estimate(p *profile.Profile) predict.Estimate {
	if c.state == nil {
		return predict.Estimate{}
	}
	return c.state.ratio(p, &c.a, &c.b)
}

// Value returns the Value of Estimate, in a fraction of its time.
func (c *Comparison) Value(p *profile.Profile) float64 {
	if c.state == nil {
		return 0
	}
	if c.a.same(&c.b) {
		return 1
	}
	q := c.state.question(p)
	return q.value(&c.a, &c.b)
}

// SliceModel tells how fast a task is on a MIG slice compared with the whole GPU.
type SliceModel interface {
	Speed(p *profile.Profile, gpu *profile.GPUModel, slice profile.MIGProfile) (predict.Estimate, error)
}

// Slice returns the pace of a task on a MIG slice of gpu: that of the whole card
// times the slice's speed, with the weaker Source of the two. It returns an error
// for what is no slice of gpu.
func (m *Predictor) Slice(p *profile.Profile, gpu *profile.GPUModel, slice profile.MIGProfile, model SliceModel) (predict.Estimate, error) {
	speed, err := model.Speed(p, gpu, slice)
	if err != nil {
		return predict.Estimate{}, err
	}
	whole := m.Pace(p, gpu)
	below := math.Hypot(math.Log(whole.Value/whole.Lo), math.Log(speed.Value/speed.Lo))
	above := math.Hypot(math.Log(whole.Hi/whole.Value), math.Log(speed.Hi/speed.Value))
	e := predict.Estimate{Value: whole.Value * speed.Value, Confidence: min(whole.Confidence, speed.Confidence)}
	e.Lo, e.Hi = e.Value*math.Exp(-below), e.Value*math.Exp(above)
	e.Source = predict.Source{
		Kind:     min(whole.Source.Kind, speed.Source.Kind),
		Distance: max(whole.Source.Distance, speed.Source.Distance),
	}
	return e, nil
}

// Clone returns a copy that learns on its own. O(1): what both know is shared until
// one of them learns.
func (m *Predictor) Clone() *Predictor {
	c := new(Predictor)
	c.state.Store(m.load())
	return c
}

// Equal reports whether both are the same Predictor, as == does; what two of them
// learned is not compared. go-cmp asks it.
func (m *Predictor) Equal(other *Predictor) bool { return m == other }
