// Package interference predicts how fast tasks run side by side on one GPU, as a
// share of their speed alone, and learns from every co-run that is measured.
//
//	m, err := pretrained.Interference() // or interference.Fit(observations, nil)
//	if err != nil {
//		return err
//	}
//	speeds, err := m.Speeds(&gpu, profile.TimeSlice, set, nil) // one estimate a task
//	why, err := m.Explain(&gpu, profile.TimeSlice, set, 0)     // which neighbour costs what
//	// ... they ran, and each made so many steps a second:
//	err = m.Observe(interference.Observation{GPU: gpu.Name, Mechanism: profile.TimeSlice, Set: set, Speeds: seen})
//	drift := m.Drift(gpu.Name, profile.TimeSlice) // do the intervals still hold?
//
// [Predictor.Beside] answers for one task beside many others at once,
// [Predictor.Values] without intervals, [Predictor.Capped] under MPS with shares
// of threads.
//
// # How it is computed
//
// Task i loses beside one neighbour j
//
//	L_ij = e_i + max(0, Σ_k β_k φ_k(i,j) + c_j + T(i,j))
//	speed_i = 1 − L_ij, or ¼/L_ij where L_ij > ½
//
// and beside several what they add to the time of its steps is added up, its own part
// once:
//
//	1/speed_i − 1 = d(e_i) + Σ_{j≠i} (d(L_ij) − d(e_i)) + excess,  d(L) = 1/speed(L) − 1
//
// with physical overlap terms φ (SM time, memory traffic, turns) and slopes
// β ≥ 0, effects e and c of the task's type and model (how far its solo
// measurement is off, how hard it is on others), boosted trees T of what the terms
// leave over, and the excess of three or more tasks over their pairs. β, e and c
// are one ridge regression for each GPU product and mechanism, because nothing
// transfers between GPUs without loss. A measured co-run updates its solution
// exactly; nothing is fitted again.
//
// # Concurrency
//
// A [Predictor] is safe for concurrent use, learning included: readers see it
// before or after an observation, never between.
package interference
