package packer

// stayHome returns the plan that leaves every task at home that may be there with
// those before it, and all others waiting.
func stayHome(in *instance, value valuer) (*plan, error) {
	pl := newPlan(in)
	at := map[int32]*seat{}
	for i, h := range in.home {
		if h == none {
			continue
		}
		k := in.byGPU[h]
		s := at[h]
		if s == nil {
			s = &seat{class: k, ref: in.classes[k].base}
			at[h] = s
		}
		units, ref := int64(0), s.ref
		if k < in.free {
			alone, err := value.singleValue(k, i)
			if err != nil {
				return nil, err
			}
			units, ref = alone, max(ref, alone)
		}
		if k >= in.free || len(s.tasks) > 0 {
			var err error
			if len(s.tasks)+len(in.classes[k].residents) >= in.maxSet {
				continue
			}
			if units, err = value.setValue(k, append(s.tasks, int32(i)), ref); err != nil {
				return nil, err
			}
		}
		if units > 0 {
			s.tasks, s.ref, pl.gpu[i] = append(s.tasks, int32(i)), ref, h
		}
	}
	return pl, nil
}
