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

// Used is what a step used of its GPUs, as far as the site watches them.
type Used struct {
	Busy   profile.Opt[float64] // a share: of one GPU, or of all in a total
	Memory profile.Opt[profile.Bytes]
}

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
			if v, ok := usedBytes(value); ok && v >= u.Memory.Or(0) {
				u.Memory = profile.Some(v)
			}
		}
	}
	return u
}

// usedBytes reads 1234M and 1.5G; without a unit it is bytes.
func usedBytes(s string) (profile.Bytes, bool) {
	unit := 1.0
	if s != "" {
		if i := strings.IndexByte("KMGTP", s[len(s)-1]); i >= 0 {
			unit, s = math.Pow(1024, float64(i+1)), s[:len(s)-1]
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return profile.BytesOf(v * unit), err == nil && v*unit < 1<<50
}
