package utilization

import (
	"errors"
	"fmt"
	"math"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/footprint"
	"example.com/colloc/profile"
)

// Predictor predicts, from the description of a task and the data sheet of a
// GPU alone, how busy the task will keep the GPU. Make one with
// [Fit], [Load] or package pretrained; the zero
// Predictor answers by roofline alone. It is safe for concurrent use.
type Predictor struct {
	parts [profile.Families][quantities]*part
	gpu   string // where the data were measured
	from  predict.Provenance
}

// Equal reports whether both are the same Predictor, as == does; what two of them
// learned is not compared. go-cmp asks it.
func (u *Predictor) Equal(other *Predictor) bool { return u == other }

// Provenance returns what the model was fitted to.
func (u *Predictor) Provenance() predict.Provenance { return u.from }

// Solo predicts how busy spec alone keeps gpu. The intervals cover 90 %. The
// source is Fitted where tasks of the family were measured, and Prior otherwise:
// then the times that bound a training step (roofline) give a rough answer. On
// another GPU than that of the data the same times carry the prediction over,
// with intervals three times as wide and a Distance of at least 2.
//
// It returns an error for an invalid Spec, one without layers, and a GPU whose
// FP32 rate or bandwidth is unknown. O(layers + trees), no allocation.
func (u *Predictor) Solo(spec *profile.Spec, gpu *profile.GPUModel) (SoloUse, error) {
	var all [quantities]predict.Estimate
	err := u.predict(spec, gpu, &all, smActive, smOccupancy, dramActive, gpuBusy)
	return SoloUse{SMActive: all[smActive], SMOccupancy: all[smOccupancy], DRAMActive: all[dramActive], GPUBusy: all[gpuBusy]}, err
}

// Busy is Solo for the two quantities that interference depends on where nothing was
// observed. These are GPU busy and DRAM active. It costs a third.
func (u *Predictor) Busy(spec *profile.Spec, gpu *profile.GPUModel) (gpuIsBusy, dramIsActive predict.Estimate, err error) {
	var all [quantities]predict.Estimate
	err = u.predict(spec, gpu, &all, dramActive, gpuBusy)
	return all[gpuBusy], all[dramActive], err
}

// predict fills in the wanted quantities.
func (u *Predictor) predict(spec *profile.Spec, gpu *profile.GPUModel, all *[quantities]predict.Estimate, wanted ...int) error {
	if spec == nil || gpu == nil {
		return errors.New("predict: utilization: the spec or the GPU is nil")
	}
	if !footprint.Plausible(spec) {
		if err := spec.Validate(); err != nil {
			return fmt.Errorf("predict: utilization: %w", err)
		}
	}
	if _, known := spec.Model.Activations(); !known {
		return fmt.Errorf("predict: utilization: %q has no layers, or some whose outputs are unknown: nothing to predict from", spec.Model.Name)
	}
	full := gpu.Figures()
	gpu = &full
	if !(gpu.FP32 > 0) || !(gpu.BandwidthBytesPerSec > 0) || math.IsInf(gpu.FP32, 1) || math.IsInf(gpu.BandwidthBytesPerSec, 1) {
		return fmt.Errorf("predict: utilization: GPU %q: FP32 rate %v and bandwidth %v must be positive", gpu.Name, gpu.FP32, gpu.BandwidthBytesPerSec)
	}
	var x [featureCount]float64
	describe(&x, spec, gpu)
	home := gpu.Canonical() == u.gpu
	parts := &u.parts[spec.Model.Guess()]
	for _, k := range wanted {
		if p := parts[k]; p != nil {
			all[k] = p.estimate(&x, k, home)
		} else {
			all[k] = roofline(&x, k)
		}
	}
	return nil
}
