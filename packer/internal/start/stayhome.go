package start

import (
	"example.com/colloc/packer/internal/instance"
)

// StayHome returns the plan that leaves every task at home that may be there with
// those before it, and all others waiting.
func StayHome(in *instance.Instance, value instance.Values) (*instance.Plan, error) {
	pl := instance.NewPlan(in)
	at := map[int32]*seat{}
	for i, h := range in.Home {
		if h == none {
			continue
		}
		k := in.ByGPU[h]
		s := at[h]
		if s == nil {
			s = &seat{class: k, ref: in.Classes[k].Base}
			at[h] = s
		}
		units, ref := int64(0), s.ref
		if k < in.Free {
			alone, err := value.SingleValue(k, i)
			if err != nil {
				return nil, err
			}
			units, ref = alone, max(ref, alone)
		}
		if k >= in.Free || len(s.tasks) > 0 {
			var err error
			if len(s.tasks)+len(in.Classes[k].Residents) >= in.MaxSet {
				continue
			}
			if units, err = value.SetValue(k, append(s.tasks, int32(i)), ref); err != nil {
				return nil, err
			}
		}
		if units > 0 {
			s.tasks, s.ref, pl.Gpu[i] = append(s.tasks, int32(i)), ref, h
		}
	}
	return pl, nil
}
