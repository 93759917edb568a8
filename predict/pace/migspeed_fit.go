package pace

import (
	"errors"
	"fmt"
	"math"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/profile"
)

// MIGObservation is the measured speed of one task on one slice.
type MIGObservation struct {
	// Profile is the task's solo profile on the whole GPU.
	Profile *profile.Profile
	// GPU is the whole GPU.
	GPU profile.GPUModel
	// Slice is where it ran.
	Slice profile.MIGProfile
	// Speed is its speed there over that on the whole GPU, more than 0.
	Speed float64
	// Group is what validation leaves out at once, for example the model.
	Group string
}

// MIGOptions configure [FitMIGSpeed]; nil and the zero value are the defaults.
type MIGOptions struct {
	// Confidence is the probability that an interval covers; 0 means 0.9.
	Confidence float64
	// Provenance says where the observations come from; it is saved.
	Provenance string
}

// FitMIGSpeed fits the delays by non-negative least squares, rows weighted so
// that errors count in speed, and takes the width of the intervals from groups
// left out one by one. Observations on the whole GPU tell nothing and are
// skipped. It returns an error that names the observation for a slice that the
// GPU cannot have and for a speed that is not a positive number.
// O(variants × groups × n).
func FitMIGSpeed(obs []MIGObservation, o *MIGOptions) (*MIGSpeed, error) {
	var options MIGOptions
	if o != nil {
		options = *o
	}
	if options.Confidence == 0 {
		options.Confidence = 0.9
	}
	if err := conformal.CheckConfidence(options.Confidence); err != nil {
		return nil, fmt.Errorf("predict: mig: %w", err)
	}
	rows, err := migRows(obs)
	if err != nil {
		return nil, err
	}
	m := &MIGSpeed{confidence: options.Confidence, provenance: options.Provenance}
	for variant := 1; variant < migVariants; variant++ {
		if err := m.fitVariant(variant, rows); err != nil {
			return nil, fmt.Errorf("predict: mig: %w", err)
		}
	}
	return m, nil
}

type migObservation struct {
	*MIGObservation
	share   share
	variant int
}

func migRows(obs []MIGObservation) ([]migObservation, error) {
	var rows []migObservation
	var errs []error
	for i := range obs {
		o := &obs[i]
		s, err := shareOf(&o.GPU, o.Slice)
		if err == nil {
			err = predict.CheckSpeed(o.Speed)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("predict: mig: observation %d: %w", i, err))
		} else if s.compute < 1 || s.memory < 1 {
			rows = append(rows, migObservation{o, s, migVariant(o.Profile)})
		}
	}
	return rows, errors.Join(errs...)
}

// fitVariant fits one combination of features to all rows that know them.
func (m *MIGSpeed) fitVariant(variant int, all []migObservation) error {
	var rows []migObservation
	for _, r := range all {
		if r.variant == variant || variant != onlyBusy && knows(r.Profile, variant) {
			rows = append(rows, r)
		}
	}
	if len(rows) < 8 {
		return nil
	}
	coef, err := migCoef(variant, rows)
	if err != nil {
		return err
	}
	model := migModel{Coef: coef, Rows: len(rows)}
	fresh, probed, err := migErrors(variant, rows)
	if err != nil {
		return err
	}
	model.Factor = num.Round9(conformal.New(fresh).Upper(1 - m.confidence))
	model.Probed = num.Round9(conformal.New(probed).Upper(1 - m.confidence))
	m.models[variant] = model
	return nil
}

// knows reports whether a profile has every feature of a variant; a variant
// without power also fits tasks whose power is known. [onlyBusy] does not: a busy share
// that comes alone is another counter than nvidia-smi's.
func knows(p *profile.Profile, variant int) bool {
	if p == nil {
		return false
	}
	_, traffic := p.Vector.Either(profile.MeanDRAMActive, profile.MeanMemBusy)
	_, power := p.Vector.Get(profile.BusyPower)
	_, busy := p.Vector.Either(profile.MeanSMActive, profile.MeanGPUBusy)
	for f, ok := range [migFeatures]bool{traffic, power, busy} {
		if variant&(1<<f) != 0 && !ok {
			return false
		}
	}
	return true
}

// migCoef solves min Σ (y² (1/y − 1 − x·b))² + Σ (penalty b)² over b ≥ 0: an error
// of the delay times y² is one of the speed.
func migCoef(variant int, rows []migObservation) (coef [migFeatures * migBases]float64, err error) {
	const penalty = 0.05
	if variant == onlyBusy {
		coef[fillOf] = fill(rows)
		return coef, nil
	}
	var x [][]float64
	var y []float64
	for _, r := range rows {
		row := migRow(r.Profile, r.share, variant)
		v := min(1, r.Speed)
		for j := range row {
			row[j] *= v * v
		}
		x, y = append(x, append([]float64(nil), row[:]...)), append(y, (1/v-1)*v*v)
	}
	for j := range coef {
		unit := make([]float64, len(coef))
		unit[j] = penalty
		x, y = append(x, unit), append(y, 0)
	}
	b, err := lsq.NNLS(x, y, nil)
	if err != nil {
		return coef, err
	}
	for j := range b {
		coef[j] = num.Round9(b[j])
	}
	return coef, nil
}

// fill returns the batch at which the idle share is what tasks leave of a GPU, in steps of
// a quarter, with the least squared error of the speed.
func fill(rows []migObservation) float64 {
	best, least := 0.0, math.Inf(1)
	for quarters := range 161 {
		at, sum := float64(quarters)/4, 0.0
		for _, r := range rows {
			e := 1/(1+fillDelay(at, r.Profile, r.share)) - min(1, r.Speed)
			sum += e * e
		}
		if sum < least {
			best, least = at, sum
		}
	}
	return best
}

// migErrors predicts every group by a fit on the others, from the solo profile
// and from a probe on each other slice, and returns the scaled errors.
func migErrors(variant int, rows []migObservation) (fresh, probed []float64, err error) {
	var groups []string
	at := make(map[string]bool)
	for _, r := range rows {
		if !at[r.Group] {
			at[r.Group] = true
			groups = append(groups, r.Group)
		}
	}
	if len(groups) < 2 {
		return nil, nil, fmt.Errorf("all observations are of group %q: want at least two to validate on", groups[0])
	}
	for _, g := range groups {
		var in, out []migObservation
		for _, r := range rows {
			if r.Group == g {
				out = append(out, r)
			} else {
				in = append(in, r)
			}
		}
		coef, err := migCoef(variant, in)
		if err != nil {
			return nil, nil, err
		}
		f := MIGSpeed{}
		f.models[variant] = migModel{Coef: coef, Rows: len(in)}
		for _, r := range out {
			v := 1 / (1 + f.delayBy(variant, r.Profile, r.share))
			fresh = append(fresh, math.Abs(v-r.Speed)/migScale(v))
			if variant == r.variant {
				probed = append(probed, f.probeErrors(r, out)...)
			}
		}
	}
	return fresh, probed, nil
}

// probeErrors predicts one observation from each other slice of its task and
// returns the scaled errors.
func (m *MIGSpeed) probeErrors(r migObservation, all []migObservation) []float64 {
	var out []float64
	for _, p := range all {
		if p.Profile != r.Profile || p.share == r.share {
			continue
		}
		if e, err := m.SpeedFromProbe(r.Profile, &r.GPU, r.Slice, p.Slice, p.Speed); err == nil {
			out = append(out, math.Abs(e.Value-r.Speed)/migScale(e.Value))
		}
	}
	return out
}
