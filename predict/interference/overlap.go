package interference

import (
	"math"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// load is what one task asks of a GPU, as far as sharing is concerned.
type load struct {
	sm     float64 // share of SM time, in [0, 1]
	dram   float64 // share of memory bandwidth, in [0, 1]
	step   float64 // natural logarithm of the step time in seconds; NaN is unknown
	memory float64 // peak memory over the GPU's memory; NaN is unknown
	batch  float64 // natural logarithm of the batch; NaN is unknown
	model  string  // name of the model; "" is unknown
	seen   bool    // SM use was observed
}

// What an unobserved task is taken to use: a training task that keeps its GPU
// busy. Assuming less would promise speeds that nothing supports. Memory traffic
// that is unknown is half the SM use, the ratio of Lucid's 46 jobs (0.22 to 0.47).
const (
	unseenSM        = 1.0
	unseenDRAMPerSM = 0.5
)

// loadOf reads the features that interference depends on: SM and DRAM activity
// where a profiler gave them, else the busy shares of nvidia-smi. A nil profile
// is a task of which nothing is known. It does not allocate.
func loadOf(p *profile.Profile) load {
	l := load{sm: unseenSM, dram: unseenDRAMPerSM, step: math.NaN(), memory: math.NaN(), batch: math.NaN()}
	if p == nil {
		return l
	}
	v := &p.Vector
	l.model = p.Spec.Model.Name
	if x, ok := v.Either(profile.MeanSMActive, profile.MeanGPUBusy); ok {
		l.sm, l.dram, l.seen = x, unseenDRAMPerSM*x, true
	}
	if x, ok := v.Either(profile.MeanDRAMActive, profile.MeanMemBusy); ok {
		l.dram = x
	}
	if x, ok := v.Get(profile.MedianStepTime); ok && x > 0 {
		l.step = math.Log(x)
	}
	if x, ok := v.Get(profile.BatchSize); ok && x > 0 {
		l.batch = math.Log(x)
	}
	if x, ok := v.Get(profile.PeakMemory); ok && p.GPU.Memory > 0 {
		l.memory = x / float64(p.GPU.Memory)
	}
	return l
}

// A term is one physical way in which a neighbour costs speed.
const (
	smOverflow   = iota // SM time wanted beyond what there is
	dramSteal           // own kernels wait for the neighbour's memory traffic
	dramOverflow        // bandwidth wanted beyond what there is
	smMeeting           // both want the SMs at the same moment, by chance
	dramMeeting         // both want the memory at the same moment, by chance
	sameModel           // two tasks of one model want the same unit at the same moment
	turnShare           // the task with the longer steps keeps the GPU longer

	termCount
)

// terms are the values of the physical terms, none of them negative.
type terms [termCount]float64

// pairTerms returns the terms of a task beside one neighbour:
//
//	max(0, s+s'−1)  s·d'  max(0, d+d'−1)  s·s'  d·d'  s'·τ
//	min(s, s') for two tasks of one model, else 0
//	τ = 1/(1 + √(t/t'))
//
// with s, d, t the SM share, the bandwidth share and the step time of the task
// and s', d', t' those of the neighbour; τ is ½ where a step time is unknown.
// Every term is 0 for a neighbour that uses nothing, and none falls when the
// neighbour uses more. The first five are those of Horus-like co-location
// models; the last follows Gavel's K80 measurements, where the longer step wins;
// that of one model says that like tasks are short of the same thing: such pairs sum
// to 0.98 there, others to 1.12.
func pairTerms(own, other *load) terms {
	turn := 0.5
	if gap := own.step - other.step; !math.IsNaN(gap) {
		turn = 1 / (1 + math.Exp(0.5*gap))
	}
	same := 0.0
	if own.model == other.model && own.model != "" {
		same = min(own.sm, other.sm)
	}
	return terms{
		sameModel:    same,
		smOverflow:   max(0, own.sm+other.sm-1),
		dramSteal:    own.sm * other.dram,
		dramOverflow: max(0, own.dram+other.dram-1),
		smMeeting:    own.sm * other.sm,
		dramMeeting:  own.dram * other.dram,
		turnShare:    turn * other.sm,
	}
}

// unseenTerms are those of two tasks of different models without observed use.
func unseenTerms() terms {
	unseen := loadOf(nil)
	return pairTerms(&unseen, &unseen)
}

// presence is 0 for a neighbour that uses nothing and 1 from 5 % use on: what
// was learned of a type holds for it while it runs, and an idle one costs nothing.
func (l *load) presence() float64 { return min(1, max(l.sm, l.dram)/0.05) }

// lossOf and speedOf convert between a speed and the loss that adds up over
// neighbours. One neighbour takes 1−speed; where much is lost already, each
// further neighbour takes less, as in fair sharing, so that the speed stays
// positive:
//
//	speed = 1 − L for L ≤ ½, ¼/L beyond (the same value and slope at ½)
func speedOf(loss float64) float64 {
	if loss <= 0.5 {
		return 1 - loss
	}
	return 0.25 / loss
}

func lossOf(speed float64) float64 {
	if speed >= 0.5 {
		return 1 - speed
	}
	return 0.25 / max(speed, predict.LeastSpeed)
}

// lossSlope is |d speed / d loss|: what an error of the loss costs in speed.
func lossSlope(loss float64) float64 {
	if loss <= 0.5 {
		return 1
	}
	return 0.25 / (loss * loss)
}

// slowdownOf is what a loss adds to the time of a step, as a part of a step alone:
// 1/speed − 1; a gain is counted as it is, so that gains add up as losses near 0 do.
// It is convex and never falls.
func slowdownOf(loss float64) float64 {
	if loss <= 0.5 {
		return loss / (1 - max(0, loss))
	}
	return 4*loss - 1
}

// lossOfSlowdown is its inverse.
func lossOfSlowdown(d float64) float64 {
	if d <= 0 {
		return d
	}
	return lossOf(1 / (1 + d))
}

// slowdownSlope is the slope of slowdownOf, between 1 and 4.
func slowdownSlope(loss float64) float64 {
	left := 1 - min(0.5, max(0, loss))
	return 1 / (left * left)
}

// excessCost is what an excess over pairs adds to a slowdown for each unit of loss that
// its slope says: d(L)/L at a loss of a third, that of a pair which wants half as much
// again as there is and shares it in fair parts.
const excessCost = 1.5

// stretch is how much longer a step takes under a cap, alone.
func (l *load) stretch(limit float64) float64 { return 1 - l.sm + l.sm/limit }
