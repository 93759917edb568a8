// Package advise says what keeps a task from doing more work per GPU, and what to
// do about it. [Diagnose] reads a profile and ranks remedies with their predicted
// effect: share the GPU, feed it faster, change precision or batch, recompute
// activations, use more GPUs. [ChooseGPUs] says how many GPUs of which kind pay.
//
//	d := advise.Diagnose(task.Profile, &advise.Options{Planner: planner})
//	for _, f := range d.Findings {
//		fmt.Println(f.Bottleneck, f.Evidence) // underused [mean_sm_active 0.22 < 0.5]
//	}
//	for _, r := range d.Remedies {
//		fmt.Println(r.Action, r.Throughput, r.Text)
//	}
//	choices, err := advise.ChooseGPUs(points, 0) // measured on 1, 2, 4 ... GPUs
//
// Effects are ranges that follow from measured shares of time, not promises.
// What was not measured is not judged: a warning says so. Each rule names its
// source.
package advise
