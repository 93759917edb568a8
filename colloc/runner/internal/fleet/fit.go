package fleet

import (
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// ErrAbsent says that a task fits none of the cards that are there, but would fit if those
// came back that are gone or do not answer.
var ErrAbsent = errors.New("fits only GPUs that are gone or do not answer")

// Never is an error if what a task waits for is not there, whoever ends: [ErrAbsent] if it
// would be once cards came back. why is the reason for which it waits.
func (f *Fleet) Never(e *backlog.Entry, why *packer.Reason) error {
	if why.Code != packer.WrongGPU && why.Code != packer.SpeedLimit {
		switch width := e.Task.Width(); {
		case f.enough(f.there(), why.Memory, width):
			return nil
		case f.enough(slices.Concat(f.Cards, f.gone), why.Memory, width):
			return fmt.Errorf("%w: %v", ErrAbsent, why)
		}
	}
	return fmt.Errorf("fits no GPU: %v", why)
}

// Largest is what the largest card offers when it is empty, of those that are here and those
// that may come back; 0 if there are none.
func (f *Fleet) Largest() profile.Bytes {
	var most profile.Bytes
	for _, c := range slices.Concat(f.Cards, f.gone) {
		most = max(most, f.usable(c))
	}
	return most
}

// enough reports whether so many of some cards are of one product and have room for a task when they
// are empty.
func (f *Fleet) enough(cards []*Card, memory profile.Bytes, width int) bool {
	products := make(map[string]int)
	for _, c := range cards {
		if f.usable(c) >= max(memory, f.config.MemoryFloor) {
			if products[c.model.Name]++; products[c.model.Name] >= width {
				return true
			}
		}
	}
	return false
}
