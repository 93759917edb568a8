package site

import (
	"fmt"
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
		for item := range strings.SplitSeq(used, ",") {
			name, amount, _ := strings.Cut(item, "=")
			if name == "gres/gpumem" || strings.HasPrefix(name, "gres/gpumem:") {
				if peak := usedBytes(amount); peak > 0 {
					peaks[JobID(id)] = max(peaks[JobID(id)], peak)
				}
			}
		}
	}
	return peaks, nil
}

// usedBytes reads 1234M as slurmBytes does; here a number without a unit counts bytes.
func usedBytes(s string) profile.Bytes {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return profile.Bytes(n)
	}
	return slurmBytes(s)
}
