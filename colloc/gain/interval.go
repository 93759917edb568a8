package gain

import (
	"math/rand/v2"
	"slices"
	"time"

	"example.com/colloc/predict"
)

// sums are those of the jobs that were submitted within a stretch of time.
type sums struct {
	jobs                      float64
	hoursWithout, hoursWith   float64
	waitedWithout, waitedWith float64
	turnWithout, turnWith     float64
	shared, slow, later, died float64
}

func (s *sums) add(t *sums) {
	s.jobs += t.jobs
	s.hoursWithout += t.hoursWithout
	s.hoursWith += t.hoursWith
	s.waitedWithout += t.waitedWithout
	s.waitedWith += t.waitedWith
	s.turnWithout += t.turnWithout
	s.turnWith += t.turnWith
	s.shared += t.shared
	s.slow += t.slow
	s.later += t.later
	s.died += t.died
}

// count adds one job.
func (s *sums) count(without, with *life) {
	if !without.ran || !with.ran {
		return
	}
	s.jobs++
	s.hoursWithout += without.hours
	s.hoursWith += with.hours
	s.waitedWithout += without.wait.Hours()
	s.waitedWith += with.wait.Hours()
	s.turnWithout += without.turn.Hours()
	s.turnWith += with.turn.Hours()
	s.died += float64(with.died)
	if with.mates {
		s.shared++
		s.slow += max(1, float64(with.turn-with.wait)/float64(with.work))
	}
	if with.turn > without.turn+max(time.Minute, with.work/20) {
		s.later++
	}
}

// blocks is into how many stretches a window is cut, unless that makes them longer than a day.
const blocks = 10

// cutUp adds jobs up by when they were submitted.
func (p *player) cutUp(w *window, without, with []life) []sums {
	span := p.jobs[w.end-1].Submitted.Sub(w.from)
	length := max(1, min(24*time.Hour, span/blocks))
	list := make([]sums, int(span/length)+1)
	for i := w.first; i < w.end; i++ {
		list[int(p.jobs[i].Submitted.Sub(w.from)/length)].count(&without[i], &with[i])
	}
	return slices.DeleteFunc(list, func(s sums) bool { return s.jobs == 0 })
}

// saved is what one draw saves, in hours.
type saved struct{ gpu, waiting, earlier float64 }

// of scales what was saved in a part to the whole.
func (s *sums) of(whole *Gain) saved {
	if s.jobs == 0 || s.hoursWithout == 0 {
		return saved{}
	}
	jobs := float64(whole.Jobs)
	return saved{
		gpu:     (1 - s.hoursWith/s.hoursWithout) * whole.Recorded.GPUHours,
		waiting: (s.waitedWithout - s.waitedWith) / s.jobs * jobs,
		earlier: (s.turnWithout - s.turnWith) / s.jobs * jobs,
	}
}

// draws is how often the stretches of a replication are drawn.
const draws = 64

// bootstrap draws stretches with replacement.
func bootstrap(list []sums, whole *Gain, rng *rand.Rand) []saved {
	out := make([]saved, draws)
	for d := range out {
		var s sums
		for range list {
			s.add(&list[rng.IntN(len(list))])
		}
		out[d] = s.of(whole)
	}
	return out
}

// confidence is that of the intervals.
const confidence = 0.95

// estimate puts an interval around a value.
func estimate(value float64, drawn []float64) predict.Estimate {
	e := predict.Estimate{Value: value, Lo: value, Hi: value, Confidence: confidence, Source: predict.Source{Kind: predict.Fitted}}
	if len(drawn) == 0 {
		return e
	}
	slices.Sort(drawn)
	tail := (1 - confidence) / 2
	e.Lo = min(value, drawn[int(tail*float64(len(drawn)-1))])
	e.Hi = max(value, drawn[len(drawn)-1-int(tail*float64(len(drawn)-1))])
	return e
}
