package instance

// speeds asks the model about a task once.
func (x *Cut) speeds(in *Instance, c *Class, i int32) ([]float64, error) {
	if len(x.known) == 0 {
		x.known = make([][]float64, len(in.All))
	}
	if x.known[i] == nil {
		s := make([]float64, len(x.Room))
		if err := in.Oracle.SliceSpeeds(c.Number, i, s); err != nil {
			return nil, err
		}
		x.known[i] = s
	}
	return x.known[i], nil
}

// ask fills dst with the speeds of set, residents first, under the layout that
// is worth most, and where with its instances. Without one that holds them all
// the new tasks have speed 0.
func (x *Cut) ask(in *Instance, c *Class, set []int32, dst []float64) error {
	clear(dst)
	x.where = append(x.where[:0], x.Taken...)
	residents := len(x.Taken)
	x.value = x.value[:0]
	for n, i := range set {
		s, err := x.speeds(in, c, i)
		if err != nil {
			return err
		}
		if n < residents {
			dst[n] = s[x.Taken[n].Profile]
			continue
		}
		t, worth, row := &in.All[i], in.Worth(c, i), make([]float64, len(s))
		for p, v := range s {
			if v >= t.MinSpeed && t.Memory <= x.Room[p] {
				row[p] = worth * v
			}
		}
		x.value = append(x.value, row)
	}
	if len(x.value) > maxInstances {
		return nil
	}
	best, ok, err := x.Choice.Best(x.value)
	if err != nil || !ok {
		return err
	}
	for n, at := range best.Instance {
		p := best.Layout[at]
		x.where = append(x.where, p)
		dst[residents+n] = x.known[set[residents+n]][p.Profile]
	}
	return nil
}

// maxInstances is more than any GPU can be cut into.
const maxInstances = 8
