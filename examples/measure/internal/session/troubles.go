package session

import (
	"errors"
	"fmt"

	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/rig"
	"example.com/colloc/profile"
)

// errTrouble means that cells fail one after another.
var errTrouble = errors.New("stopped because nothing works")

// mostTroubles is how many cells may fail in a row.
const mostTroubles = 5

// troubles counts the cells that failed in a row, by mechanism.
type troubles map[profile.Mechanism]int

// add returns an error when too many failed: rig.ErrMPS if MPS alone is broken.
func (t troubles) add(res *raw.Result) error {
	m := res.Cell.Mechanism
	if t[m]++; !res.Status.Trouble() {
		t[m] = 0
	}
	if t[m] < mostTroubles {
		return nil
	}
	cause := errTrouble
	if m == profile.MPS {
		cause = rig.ErrMPS
	}
	return fmt.Errorf("%w: %d cells in a row failed, the last with: %s", cause, t[m], res.Complaints())
}
