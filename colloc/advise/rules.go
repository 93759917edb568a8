package advise

import (
	"example.com/colloc/profile"
)

// Sources of the rules.
const (
	sourceDCGM    = "NVIDIA DCGM user guide, profiling metrics: SM activity below 0.5 is ineffective, 0.8 is effective use; DRAM activity reaches 0.8 at most"
	sourceStalls  = "Mohan et al. 2021, Analyzing and mitigating data stalls in DNN training, doi:10.14778/3446095.3446100"
	sourceLoader  = "PyTorch performance tuning guide: with num_workers = 0 loading and training take turns"
	sourceReserve = "advise: reservation at the Planner's risk against what the GPU has after headroom"
	sourceShare   = "advise: beyond this share, less than a tenth of the memory is left after 10 % headroom"
)

// findings applies the rules in the order of the bottlenecks.
func (v *view) findings() []Finding {
	var found []Finding
	add := func(p Bottleneck, source string, evidence ...Evidence) {
		found = append(found, Finding{Bottleneck: p, Evidence: evidence, Source: source})
	}
	share, shareKnown := v.share()
	memory := Evidence{"memory_share", share, highMemory, true}
	fits := !shareKnown || v.reserved <= v.usable
	if !fits {
		add(TooLargeToFit, sourceReserve, Evidence{"memory_share", share, float64(v.usable) / float64(v.total), true})
	}
	low, lowKnown := v.lowSM()
	wait, waitKnown := v.dataWait()
	if waitKnown && wait.Above {
		f := v.waits(wait)
		found = append(found, f)
	}
	switch cpu, cpuKnown := v.p.Vector.Get(profile.MeanCPUBusy); {
	case waitKnown && wait.Above: // a profiler saw it, which is better than what use suggests
	case waitKnown && lowKnown && !low.Above:
		add(Underused, sourceDCGM, low, wait)
	case !lowKnown:
		v.warn("use of the GPU is not judged: neither SM activity nor GPU utilisation was measured")
	case low.Above:
	case !cpuKnown:
		v.warn("the GPU idles, and CPU use was not measured: it may wait for data")
		add(Underused, sourceDCGM, low)
	case cpu >= highCPU && shareKnown && share >= highMemory:
		add(StarvedByInput, sourceStalls, low, Evidence{profile.MeanCPUBusy.String(), cpu, highCPU, true}, memory)
	case cpu >= highCPU:
		add(StarvedByInput, sourceStalls, low, Evidence{profile.MeanCPUBusy.String(), cpu, highCPU, true})
	case v.p.Spec.Training.Workers == 0:
		add(FewWorkers, sourceLoader, low, Evidence{profile.MeanCPUBusy.String(), cpu, highCPU, false}, Evidence{profile.WorkerCount.String(), 0, 1, false})
	default:
		add(Underused, sourceDCGM, low, Evidence{profile.MeanCPUBusy.String(), cpu, highCPU, false})
	}
	if sm, ok := v.p.Vector.Get(profile.MeanSMActive); ok && sm >= highSM {
		add(ComputeBound, sourceDCGM, Evidence{profile.MeanSMActive.String(), sm, highSM, true})
	}
	if dram, ok := v.p.Vector.Get(profile.MeanDRAMActive); ok && dram >= highDRAM {
		add(BandwidthBound, sourceDCGM, Evidence{profile.MeanDRAMActive.String(), dram, highDRAM, true})
	}
	if fits && shareKnown && share > largeMemory {
		add(TooLargeToShare, sourceShare, Evidence{"memory_share", share, largeMemory, true})
	}
	return found
}

// dataWait compares the share of its steps in which the task waited for data with
// highWait. A share that makes no sense is a warning.
func (v *view) dataWait() (Evidence, bool) {
	wait, known := v.o.DataWait.Get()
	if known && !(wait >= 0 && wait <= 1) {
		v.warn("waiting for data is not judged: Options.DataWait is %v, want 0 to 1", wait)
		known = false
	}
	return Evidence{"data_wait", wait, highWait, wait >= highWait}, known
}

// waits says why a task waits for data: its CPUs are busy, or as many as workers,
// or it has too few workers.
func (v *view) waits(wait Evidence) Finding {
	cpu, known := v.p.Vector.Get(profile.MeanCPUBusy)
	workers := float64(v.p.Spec.Training.Workers)
	cpus := Evidence{profile.WorkerCount.String(), workers, float64(v.o.CPUs), workers >= float64(v.o.CPUs)}
	busy := Evidence{profile.MeanCPUBusy.String(), cpu, highCPU, cpu >= highCPU}
	switch {
	case known && busy.Above:
		return Finding{StarvedByInput, []Evidence{wait, busy}, sourceStalls}
	case cpus.Above:
		return Finding{StarvedByInput, []Evidence{wait, cpus}, sourceStalls}
	case known:
		return Finding{FewWorkers, []Evidence{wait, busy, cpus}, sourceLoader}
	}
	return Finding{FewWorkers, []Evidence{wait, cpus}, sourceLoader}
}

// lowSM compares the use of the SMs with the share that is low.
func (v *view) lowSM() (Evidence, bool) {
	feature, sm, known := v.sm()
	return Evidence{feature.String(), sm, lowSM, sm >= lowSM}, known
}
