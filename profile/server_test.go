package profile_test

import (
	"math"
	"testing"
	"time"

	"example.com/colloc/profile"
)

func TestServer(t *testing.T) {
	s := profile.Server{Rate: 40, Swing: 0.5, Capacity: 100, Limit: 50 * time.Millisecond}
	even := profile.Server{Rate: 40, Capacity: 100, Limit: 50 * time.Millisecond, Even: true}
	open := profile.Server{Rate: 40, Capacity: 100}
	for what, got := range map[string][2]float64{
		"load": {s.Load(), 0.4}, "peak": {s.Peak(), 0.8}, "midnight": {s.Floor(0), 0.6}, "morning": {s.Floor(6 * time.Hour), 0.8},
		"even": {even.Peak(), 0.4}, "no limit": {open.Peak(), 0.4}, "none": {(*profile.Server)(nil).Peak(), 0},
		"latency": {s.Latency(0.6), 0.05}, "even latency": {even.Latency(0.5), 0.02}, "too slow": {s.Latency(0.4), math.Inf(1)},
	} {
		if got[0] != got[1] && !(math.Abs(got[0]-got[1]) < 1e-12) {
			t.Errorf("%s: %v, want %v", what, got[0], got[1])
		}
	}
	spec := profile.Spec{Training: profile.Training{BatchSize: 1}}
	for what, change := range map[string]func(*profile.Server){
		"rate": func(s *profile.Server) { s.Rate = math.NaN() }, "capacity": func(s *profile.Server) { s.Capacity = 0 },
		"swing": func(s *profile.Server) { s.Swing = 1.1 }, "limit": func(s *profile.Server) { s.Limit = -1 }, "peak": func(s *profile.Server) { s.Limit = time.Millisecond },
	} {
		bad := s
		change(&bad)
		if spec.Server = &bad; bad.Validate() == nil || spec.Validate() == nil {
			t.Errorf("%s: %+v is no fault", what, bad)
		}
	}
	if spec.Server = &s; spec.Validate() != nil {
		t.Errorf("%+v: %v", s, spec.Validate())
	}
}
