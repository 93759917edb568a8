// Package memory predicts how much device memory a training task needs, before
// it runs, and how much to set aside so that it does not run out.
//
//	m, err := pretrained.Memory() // or memory.Fit(observations, nil)
//	if err != nil {
//		return err
//	}
//	peak, err := m.Peak(&spec, host)           // with an interval
//	bytes, err := m.Reserve(&spec, host, 0.01) // exceeded by one task in a hundred
//	// ... the task ran, and used at most seen:
//	err = m.Observe(memory.Observation{Spec: spec, Host: host, Peak: seen})
//
// What tasks on one GPU need beyond the sum of their peaks is a [Together].
//
// # How it is computed
//
// A task's peak is a sum of byte terms times a residual:
//
//	peak     = (context + held + Σ_j c_j term_j) × exp(residual(x))
//	held     = weights + gradients + optimiser state
//	term_j   = optimiser's temporary copy, activations kept for the backward
//	           pass, dropout masks and pooling indices, largest output, largest
//	           input + output of a convolution, largest layer, batch, logits
//
// The coefficients c_j ≥ 0 come from non-negative least squares on relative
// errors, one set for each model family; the residual is an ensemble of boosted
// trees that may not fall in batch, parameters or optimiser state. What counts
// as kept follows PyTorch's autograd layer by layer. The context is a property
// of the host ([predict.Host]): the same job differs by more than 1 GiB between
// software stacks. Units are bytes throughout.
//
// That is a promise about the residual, not about the whole: in rare cases Peak
// falls by some per cent when one layer gets more parameters, and Reserve falls
// with a larger batch after peaks that contradict one another were observed.
//
// An upper bound comes from split conformal prediction: with s_i =
// log(seen_i/predicted_i)/spread(x_i) of n tasks that were left out of the fit,
//
//	reservation = predicted × exp(spread(x) × s_(⌈(1−risk)(n+1)⌉))
//
// is exceeded by an exchangeable task with probability at most risk.
package memory
