package records

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// instant reads a time: seconds since 1970, or a date and a time of day, with a zone or in
// loc. The words for none are the zero time.
func instant(s string, loc *time.Location) (time.Time, error) {
	switch s {
	case "", "Unknown", "None", "N/A", "0", "(null)", "NONE", "UNLIMITED":
		return time.Time{}, nil
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		if !(v > 0 && v < 1e11) {
			return time.Time{}, fmt.Errorf("%s is no time: want seconds since 1970", clip(s))
		}
		whole, part := math.Modf(v)
		return time.Unix(int64(whole), int64(part*1e9)).UTC(), nil
	}
	if len(s) > len(time.DateOnly) && s[len(time.DateOnly)] == ' ' {
		s = strings.Replace(s, " ", "T", 1)
	}
	for _, layout := range []string{dateTime, "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			if t.Year() < 1971 || t.Year() > 2200 {
				break
			}
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is no time: want 2026-01-31T12:00:00 or seconds since 1970", clip(s))
}

const dateTime = "2006-01-02T15:04:05"
