package slurm

import (
	"example.com/colloc/colloc/cmd/internal/slurm/files"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// end is the fate of a member, task k of its job: of one that failed its log says whether it ran out of memory.
func (s *sweep) end(m *member, j *site.JobInfo, k int) fate {
	f, e := s.fate(j, k), s.byID[m.Task]
	if f != failed || e == nil {
		return f
	}
	if seen, err := see(files.Under(s.dir, s.run(e).Log)); err == nil && seen.outOfMemory {
		return starved
	}
	return failed
}

// memory is that of the GPU on which a member was planned; 0 is not known.
func (r *record) memory(m *member) profile.Bytes {
	for i := range r.Sets {
		for k := range r.Sets[i].Members {
			if &r.Sets[i].Members[k] == m {
				gpu, _ := profile.LookupGPU(r.Sets[i].Product)
				return gpu.Memory
			}
		}
	}
	return 0
}

// need says what a task reserves after it ran out of memory, or of which nothing is known but that others of its
// kind were seen.
func (d *desk) need(e *entry, h *past) (reserved profile.Bytes, alone bool) {
	const growth = 1.5
	switch last := h.hungry[e.ID]; {
	case last.times == 0:
	case last.times == 1 && last.had > 0 && profile.BytesOf(growth*float64(last.had)) < last.of:
		return profile.BytesOf(growth * float64(last.had)), false
	default:
		return 0, true
	}
	if e.untold() {
		return profile.BytesOf(seenMargin * float64(d.record.peak(d.sweep, e.Kind))), false
	}
	return 0, false
}

// seenMargin is what a task of which nothing is known reserves, of what others of its kind were seen to use.
const seenMargin = 1.1

// peak is the most memory that a task of a kind was seen to use; 0 is that none was.
func (r *record) peak(s *sweep, kind string) (most profile.Bytes) {
	for m := range r.members() {
		if e := s.byID[m.Task]; e != nil && kind != "" && e.Kind == kind {
			most = max(most, m.Peak)
		}
	}
	return most
}
