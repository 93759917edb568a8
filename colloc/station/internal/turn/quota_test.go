package turn

import (
	"strings"
	"testing"
	"time"

	"example.com/colloc/nvmlx"
)

// A user who had the quota starts nothing until some of it is longer ago than the window;
// others do, and one for whom another quota holds goes by that. It is kept.
func TestQuota(t *testing.T) {
	c := &clock{start}
	policy := Policy{HalfLife: time.Hour, Quota: 3 * time.Hour, Window: 24 * time.Hour, Users: map[uint32]Limit{3: {Quota: 100 * time.Hour}}}
	turns := New(c.read, policy, Kept{})
	why := func(uid uint32) string {
		_, why := turns.Allow(jobs(nil, 1, uid, 0, 1)[0])
		return why
	}
	turns.Charge(c.now, nil)
	for hour := range 4 {
		for _, uid := range []uint32{1, 3} {
			if got := why(uid); (got != "") != (uid == 1 && hour >= 3) {
				t.Errorf("after %d hours user %d may not start: %q", hour, uid, got)
			}
		}
		c.now = c.now.Add(time.Hour)
		turns.Charge(c.now, map[nvmlx.DeviceID][]Tenant{"GPU-0": {{UID: 1}, {UID: 2}}, "GPU-1": {{UID: 1}, {UID: 2}}, "GPU-2": {{UID: 3}}})
	}
	again := time.Date(2026, 3, 15, 11, 0, 0, 0, time.UTC)
	until := "until " + again.Local().Format(time.DateTime) // as clocks show it here
	turns = New(c.read, policy, turns.Keep())
	if got := why(1); !strings.Contains(got, "4h0m0s of GPU time in the last 24h0m0s") || !strings.HasSuffix(got, until) {
		t.Errorf("user 1 waits because %q, want 4 hours and %s", got, until)
	}
	c.now = again.Add(-time.Second)
	if why(1) == "" {
		t.Error("user 1 may start too early")
	}
	c.now = c.now.Add(time.Second)
	if got := why(1); got != "" {
		t.Errorf("user 1 still waits because %q", got)
	}
	if n := len(turns.Keep().Accounts[1].Hours); n > 24 {
		t.Errorf("%d hours are kept, want those of the window", n)
	}
}

// TestQuotaToTheSecond: who had a little less than the quota starts a job, who had all of it
// none; GPU time of a window ago counts no more, and one of no time is no quota.
func TestQuotaToTheSecond(t *testing.T) {
	c := &clock{start}
	turns := New(c.read, Policy{HalfLife: time.Hour, Quota: time.Second, Window: 2 * time.Hour, Users: map[uint32]Limit{9: {MaxGPUs: 1}}}, Kept{})
	why := func(uid uint32) string {
		_, why := turns.Allow(jobs(nil, 1, uid, 0, 1)[0])
		return why
	}
	had := func(d time.Duration) {
		turns.Charge(c.now, nil)
		c.now = c.now.Add(d)
		turns.Charge(c.now, map[nvmlx.DeviceID][]Tenant{"GPU-0": {{UID: 1}}, "GPU-1": {{UID: 9}}})
	}
	had(500 * time.Millisecond)
	if got := why(1); got != "" {
		t.Errorf("with half a second left a job does not start: %s", got)
	}
	had(500 * time.Millisecond)
	for _, uid := range []uint32{1, 9} { // of whom nothing else is said about quotas
		if got := why(uid); !strings.Contains(got, "of the 1s that one may have") {
			t.Errorf("user %d without any time left: %q", uid, got)
		}
	}
	c.now = c.now.Add(2 * time.Hour)
	if got := why(1); got != "" {
		t.Errorf("after the window a job does not start: %s", got)
	}
	turns = New(c.read, Policy{HalfLife: time.Hour, Window: time.Hour}, turns.Keep())
	if had(time.Hour); why(1) != "" {
		t.Errorf("without a quota a job does not start: %s", why(1))
	}
}
