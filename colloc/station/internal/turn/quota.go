package turn

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// hourOf counts hours from 1970.
func hourOf(at time.Time) int64 { return at.Unix() / int64(time.Hour/time.Second) }

// spend notes GPU time that was had until now.
func (a *Account) spend(now time.Time, seconds float64) {
	if a.Hours == nil {
		a.Hours = make(map[int64]float64)
	}
	a.Hours[hourOf(now)] += seconds
}

// forget drops the hours that are over for longer than a window. What a clock that was set
// back left in the future stays until it is past.
func (a *Account) forget(now time.Time, window time.Duration) {
	first := hourOf(now.Add(-window))
	maps.DeleteFunc(a.Hours, func(hour int64, _ float64) bool { return hour <= first })
}

// overQuota says why a user may start no job now; empty if the quota leaves time, or there is
// none. O(hours of the window).
func (t *Turns) overQuota(uid uint32) string {
	quota, now := t.policy.limit(uid).Quota.Seconds(), t.now()
	if quota <= 0 {
		return ""
	}
	a := t.account(uid)
	a.forget(now, t.policy.Window)
	spent := 0.0
	for _, seconds := range a.Hours {
		spent += seconds
	}
	if spent < quota {
		return ""
	}
	hours := slices.Sorted(maps.Keys(a.Hours))
	left, next := spent, now
	for _, hour := range hours {
		if left -= a.Hours[hour]; left < quota {
			next = time.Unix(hour*int64(time.Hour/time.Second), 0).Add(t.policy.Window)
			break
		}
	}
	return fmt.Sprintf("its user had %v of GPU time in the last %v, of the %v that one may have: until %s",
		time.Duration(spent*float64(time.Second)).Round(time.Minute), t.policy.Window, t.policy.limit(uid).Quota, next.Format(time.DateTime))
}
