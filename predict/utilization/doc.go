// Package utilization predicts, from the description of a task and the data
// sheet of a GPU, how busy the task will keep that GPU when it runs alone. A
// task that never ran can be packed by these numbers.
//
//	u, err := pretrained.Utilization() // or utilization.Fit(observations, nil)
//	if err != nil {
//		return err
//	}
//	use, err := u.Solo(&spec, &gpu) // SM active, occupancy, DRAM active, GPU busy
//
// # How it is computed
//
// Three times bound a training step on a GPU,
//
//	memory  = bytes of parameters, optimiser state and activations / bandwidth
//	compute = 6 × multiply-adds × batch / peak rate
//	launch  = kernels × 5 µs
//
// and boosted trees over their ratios, sizes and shares of layer kinds give the
// fraction of time. Intervals come from split conformal prediction. Where no
// task of the family was measured, the slowest of the three times decides: the
// roofline.
package utilization
