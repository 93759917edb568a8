// Package predict answers, before a task runs, how much device memory it needs,
// how busy it keeps a GPU, and how fast it runs beside others.
//
// [Memory] predicts peak device memory, [Utilization] how busy a task alone
// keeps its GPU, [Interference] the speed of tasks that share a GPU, [MIGSpeed]
// the speed on a slice of one. Each is fitted to observations, predicts an
// [Estimate] with an interval, learns online, and is saved and loaded as
// versioned JSON. Package pretrained holds fitted models; [CrossValidate] and [Score]
// tell how good a model is.
//
// # Peak memory
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
// of the host ([Host]): the same job differs by more than 1 GiB between software
// stacks. Units are bytes throughout.
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
//
// # Concurrency
//
// Predicting is safe for concurrent use, and so is learning (Observe) where a
// type says so: [Memory] and [Interference].
package predict
