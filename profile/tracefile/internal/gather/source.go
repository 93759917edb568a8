package gather

import "example.com/colloc/profile"

// Source is one GPU, MIG instance, process or pod. Its samples lie in blocks,
// so that a long log is not copied again and again while it grows.
type Source struct {
	MIG bool

	labels   map[string]string
	blocks   [][]profile.Sample
	count    int
	unsorted bool
}

func (s *Source) last() *profile.Sample {
	if s.count == 0 {
		return nil
	}
	block := s.blocks[len(s.blocks)-1]
	return &block[len(block)-1]
}

// Idle sets to 0 what pmon leaves blank of a process that it tells in another
// second: a "-" there means that the process did nothing. A process that it never
// tells, as on MIG instances, stays missing.
func (s *Source) Idle() {
	if s.labels[LabelPID] == "" {
		return
	}
	told := func(of func(*profile.Sample) *profile.Opt[float64]) {
		some := false
		for _, block := range s.blocks {
			for i := range block {
				some = some || !of(&block[i]).IsZero()
			}
		}
		for _, block := range s.blocks {
			for i := range block {
				if v := of(&block[i]); some && v.IsZero() {
					*v = profile.Some(0.0)
				}
			}
		}
	}
	told(func(x *profile.Sample) *profile.Opt[float64] { return &x.GPUBusy })
	told(func(x *profile.Sample) *profile.Opt[float64] { return &x.MemBusy })
}
