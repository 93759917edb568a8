package dataset

import (
	"fmt"
	"io"

	"example.com/colloc/predict/utilization"
	"example.com/colloc/profile"
)

// ReadUtilization reads how busy tasks alone kept their GPU from a memory data
// set that tells (the avg_* columns of GPUMemNet's MLP and CNN sets, A100).
// Rows without SM activity or GPU busy, and rows that ran out of memory, are
// left out. Errors as of [ReadMemory], and one if no row tells.
func ReadUtilization(file string, r io.Reader) ([]utilization.Observation, error) {
	rows, err := ReadMemory(file, r)
	if err != nil {
		return nil, err
	}
	gpu, ok := profile.LookupGPU("A100-40GB")
	if !ok {
		return nil, fmt.Errorf("dataset: %s: the GPU catalogue lacks A100-40GB", file)
	}
	var out []utilization.Observation
	for i := range rows {
		o := &rows[i].Observation
		if o.Censored || rows[i].SoloUse.SMActive.IsZero() || rows[i].SoloUse.GPUBusy.IsZero() {
			continue
		}
		out = append(out, utilization.Observation{Spec: o.Spec, GPU: gpu, Use: rows[i].SoloUse, Group: o.Group})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("dataset: %s: no row tells how busy the GPU was", file)
	}
	return out, nil
}
