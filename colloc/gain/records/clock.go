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

// lasting reads [days-]hours:minutes:seconds, minutes:seconds, or whole seconds. What
// is no length is 0: not said.
func lasting(s string) time.Duration {
	days := 0.0
	if d, rest, ok := strings.Cut(s, "-"); ok {
		n, err := strconv.ParseUint(d, 10, 20)
		if err != nil {
			return 0
		}
		days, s = float64(n), rest
	}
	seconds := 0.0
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return 0
	}
	for _, part := range parts {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil || !(v >= 0 && v < 1e10) {
			return 0
		}
		seconds = seconds*60 + v
	}
	if seconds += days * 24 * 3600; seconds > 100*365*24*3600 {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}
