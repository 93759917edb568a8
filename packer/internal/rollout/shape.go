package rollout

// outline is what jobs of one shape have in common.
type outline struct {
	kind, width int32
	ban         *Ban
}

// form notes the shape of the next job.
func (e *Engine) form(j *Job) {
	if j.Width > 1 || j.Ban != nil {
		key := outline{j.Kind, j.Width, j.Ban}
		k, ok := e.shapes[key]
		if !ok {
			k = e.newShape()
			e.shapes[key] = k
		}
		e.shape = append(e.shape, k)
		return
	}
	for int(j.Kind) >= len(e.common) {
		e.common = append(e.common, 0)
	}
	if e.common[j.Kind] == 0 {
		e.common[j.Kind] = 1 + e.newShape()
	}
	e.shape = append(e.shape, e.common[j.Kind]-1)
}

func (e *Engine) newShape() int32 {
	e.possible = append(e.possible, unknown)
	return int32(len(e.possible) - 1)
}
