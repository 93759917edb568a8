package online

import (
	"encoding/binary"
	"slices"

	"example.com/colloc/packer/internal/rollout"
)

// Forbid names the GPUs where a task does not start, for as long as it is not told otherwise: it was
// refused there, say, or they are reserved for another. They replace those named before; none lets
// it go anywhere. Tasks that name the same share it. A GPU that is not there is an error.
func (s *Scheduler) Forbid(id string, gpus ...int) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	if err := s.there(gpus...); err != nil {
		return err
	}
	s.forbid(e, gpus)
	return nil
}

// forbid keeps a task that has no ban off some GPUs.
func (s *Scheduler) forbid(e *entry, gpus []int) {
	s.lift(e)
	if len(gpus) == 0 {
		return
	}
	gpus = slices.Compact(slices.Sorted(slices.Values(gpus)))
	var key []byte
	for _, g := range gpus {
		key = binary.AppendUvarint(key, uint64(g))
	}
	b := s.bans[string(key)]
	if b == nil {
		b = &ban{key: string(key), gpus: gpus, on: rollout.NewBan(gpus...)}
		s.bans[b.key] = b
	}
	b.tasks++
	e.ban = b
}

// lift ends an entry's ban.
func (s *Scheduler) lift(e *entry) {
	if e.ban == nil {
		return
	}
	if e.ban.tasks--; e.ban.tasks == 0 {
		delete(s.bans, e.ban.key)
	}
	e.ban = nil
}
