package site

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/colloc/profile"
)

// ParseUsage reads what sstat --noheader --parsable2 --format=JobID,TRESUsageInMax prints: the most GPU
// memory that a step of each job was seen to hold (gres/gpumem). A job of which the site accounts none is
// not there. An error is [ErrOutput].
func ParseUsage(data []byte) (map[JobID]profile.Bytes, error) {
	peaks := make(map[JobID]profile.Bytes)
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		step, used, ok := strings.Cut(line, "|")
		number, _, _ := strings.Cut(step, ".")
		id, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil || id <= 0 {
			return nil, &Error{Kind: ErrOutput, Command: "sstat", Said: fmt.Sprintf("%q, want JOB.STEP|USAGE", Clip(line))}
		}
		if peak := UsedOf(used).Memory.Or(0); peak > 0 {
			peaks[JobID(id)] = max(peaks[JobID(id)], peak)
		}
	}
	return peaks, nil
}

// Used is what a step used of its GPUs, or a job, as far as the site watches them.
type Used struct {
	Busy   profile.Opt[float64] // a share of the time: of one GPU, or of all in a total
	Memory profile.Opt[profile.Bytes]
}

// Saw takes in a step of a job with so many GPUs: what one task used at most and on average, and all together. Of several
// steps the busiest and the largest count. What all used together falls on all GPUs evenly.
func (u *Used) Saw(most, mean, total Used, gpus int) {
	busy, ok := total.Busy.Get()
	if ok {
		busy /= float64(max(1, gpus))
	} else {
		busy, ok = mean.Busy.Get()
	}
	if ok && busy >= u.Busy.Or(0) {
		u.Busy = profile.Some(min(busy, 1))
	}
	if peak, ok := most.Memory.Get(); ok && peak > u.Memory.Or(0) {
		u.Memory = profile.Some(peak)
	}
}

// mostUsed is more memory than a GPU has: who counts that much counts something else.
const mostUsed = 1 << 50

// UsedOf reads the GPUs' part in a list of what a step used: gres/gpuutil=87,gres/gpumem=1234M.
func UsedOf(list string) (u Used) {
	for item := range strings.SplitSeq(list, ",") {
		kind, value, _ := strings.Cut(item, "=")
		switch name, _, _ := strings.Cut(kind, ":"); name { // a type may follow
		case "gres/gpuutil":
			if v, err := strconv.ParseFloat(value, 64); err == nil && v <= 1e6 {
				u.Busy = profile.Some(v / 100)
			}
		case "gres/gpumem":
			if v, ok := amount(value, 1); ok && v >= u.Memory.Or(0) && v < mostUsed {
				u.Memory = profile.Some(v)
			}
		}
	}
	return u
}

// amount reads 1234M and 1.5G, and a number without a unit as so many of one; false for what is none.
func amount(s string, one profile.Bytes) (profile.Bytes, bool) {
	unit := float64(one)
	if s != "" {
		if i := strings.IndexByte("KMGTP", s[len(s)-1]); i >= 0 {
			unit, s = math.Pow(1024, float64(i+1)), s[:len(s)-1]
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) || v*unit >= math.MaxInt64 {
		return 0, false
	}
	return profile.Bytes(v * unit), true
}
