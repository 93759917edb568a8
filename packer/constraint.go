package packer

import "slices"

// accepts reports whether t takes o as company.
func (t *Task) accepts(o *Task) bool {
	return !overlap(t.Avoid, o.Labels) && (len(t.Only) == 0 || overlap(t.Only, o.Labels))
}

// overlap reports whether two lists of labels have one in common. They are
// short.
func overlap(a, b []string) bool {
	return len(a) > 0 && slices.ContainsFunc(b, func(label string) bool { return slices.Contains(a, label) })
}

// picky reports whether t refuses some company.
func (t *Task) picky() bool { return len(t.Avoid)+len(t.Only) > 0 }

// compatible reports whether two tasks may share a GPU as far as their labels
// and numbers of GPUs go.
func compatible(a, b *Task) bool {
	return a.gpus() == b.gpus() && (!a.picky() || a.accepts(b)) && (!b.picky() || b.accepts(a))
}

// hosts reports whether g carries the labels that t asks for.
func (g *GPU) hosts(t *Task) bool {
	for _, label := range t.On {
		if !slices.Contains(g.Labels, label) && (g.Type == nil || g.Type.Name != label) {
			return false
		}
	}
	return true
}
