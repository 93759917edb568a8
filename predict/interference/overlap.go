package interference

import (
	"math"

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
	serves float64 // load of a server, in (0, 1]; 0 is none
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
	if p.Spec.Server != nil {
		l.serves = min(1, max(0, p.Spec.Server.Load()))
	}
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

// turnTerms returns the terms of a task beside one neighbour in turns:
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
func turnTerms(own, other *load) terms {
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

// What a pair under MPS loses that uses the GPU like one in turns, and how far that
// leans to the task with the longer steps, whose kernels are longer. The first is what
// tally-bench's trainings beside servers on an A100 say (the mean of both sides, whose
// busy shares are known), and gives two tasks that fill the GPU .57 each, as its pairs of
// alike trainings show; the second is the exponent that these pairs fit.
const (
	mpsShare = 0.62
	mpsLean  = 0.37
	mostLean = 5 // beyond a factor of 150 in the length of steps nothing is known
)

// mpsTerms are those of a pair under MPS, of which but one is not 0:
//
//	smMeeting = L(d)   d = 0.62 D (t'/t)^0.37
//
// with D what default slopes say of the slowdown in turns and L the curve of MPS. Use
// says how often the kernels of both meet; whose are longer says who waits. It is
// 0 for a neighbour that uses nothing and never falls when that uses more. What an excess
// of three tasks over pairs costs has the slope of smOverflow.
func mpsTerms(own, other *load) terms {
	values, slopes := turnTerms(own, other), defaultSlopes(profile.TimeSlice)
	slopes[sameModel] = 0
	var turns float64
	for k, v := range values {
		turns += float64(v * slopes[k])
	}
	d := mpsShare * curve{}.slowdown(turns)
	if gap := other.step - own.step; !math.IsNaN(gap) {
		d *= math.Exp(mpsLean * min(mostLean, max(-mostLean, gap)))
	}
	return terms{smMeeting: curveOf(profile.MPS).ofSlowdown(d)}
}

// The prior of a GPU and mechanism that nothing was fitted for, as slopes of the
// terms. Time-slicing: two tasks that fill the SMs run at half speed, and a
// neighbour's memory traffic costs what non-negative least squares finds on
// Lucid's RTX 3090. Under MPS what a pair loses in turns is in its one term, and an
// excess over pairs costs the same share of what it costs in turns.
func defaultSlopes(mech profile.Mechanism) terms {
	if mech == profile.MPS {
		return terms{smMeeting: 1, smOverflow: 0.21, dramOverflow: 0.045}
	}
	return terms{smOverflow: 0.35, dramSteal: 0.2, dramOverflow: 0.1, smMeeting: 0.1, sameModel: 0.1}
}

// presence is 0 for a neighbour that uses nothing and 1 from 5 % use on: what
// was learned of a type holds for it while it runs, and an idle one costs nothing.
func (l *load) presence() float64 { return min(1, max(l.sm, l.dram)/0.05) }

// excessCost is what an excess over pairs adds to a slowdown for each unit of loss that
// its slope says. With the default slope in turns it makes SM time that is wanted beyond
// what there is lengthen a step by as much: in a large set the work of all is done, and no
// more. Sets of five that want 3.4 times the SMs then come to 1.2 of SM time times speed,
// as Lucid's pairs that want more than 1.3 do (1.17) and AEGIS' five ImageNet trainings
// did (1.14).
const excessCost = 3

// stretch is how much longer a step takes under a cap, alone.
func (l *load) stretch(limit float64) float64 { return 1 - l.sm + l.sm/limit }
