package profiler

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/colloc/profile"
)

// Bounds of a profiler's trace, as it is after unpacking.
const (
	// MaxProfile is the largest trace of a profiler in bytes.
	MaxProfile = 1 << 30
	// MaxEvents is the largest number of its events.
	MaxEvents = 1 << 24
	// MaxHeldJSON is the most that is held of one event, in bytes.
	MaxHeldJSON = 16 << 20

	maxKernels   = 1 << 22
	maxJSONDepth = 1000
)

// guard hands a document on, with its runs of blanks shortened to one, and
// bounds it: as a whole, and what lies between two resets, which a decoder may
// have to hold.
type guard struct {
	r     *bufio.Reader
	left  int64
	held  int64
	blank bool
	keep  bool // blanks as they are
}

func (g *guard) reset() { g.held = 0 }

// Read implements io.Reader.
func (g *guard) Read(p []byte) (int, error) {
	for {
		n, err := g.r.Read(p)
		g.left -= int64(n)
		out := p[:0]
		for _, b := range p[:n] {
			blank := b == ' ' || b == '\n' || b == '\t' || b == '\r'
			if !blank || !g.blank || g.keep {
				out = append(out, b)
			}
			g.blank = blank
		}
		g.held += int64(len(out))
		switch {
		case g.left < 0:
			return 0, fmt.Errorf("the trace is longer than %d bytes unpacked", MaxProfile)
		case g.held > MaxHeldJSON:
			return 0, fmt.Errorf("one event is longer than %d bytes", MaxHeldJSON)
		case len(out) > 0 || err != nil:
			return len(out), err
		}
	}
}

// share reads a number over a scale; what is none is missing.
func share(raw json.RawMessage, scale float64) profile.Opt[float64] {
	v, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return profile.Opt[float64]{}
	}
	return profile.Some(v / scale)
}
