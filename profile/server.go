package profile

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Server is what a task that answers requests is asked for and promises: a mean latency
// while requests come at a rate that swings over the day. Requests are served one after
// the other.
type Server struct {
	// Rate is the mean number of requests a second, more than 0. Swing is how much it
	// swings over the day, in [0, 1]. Capacity is how many a second the task serves alone;
	// at its peak it must have that many.
	Rate     float64 `json:"rate_per_second"`
	Swing    float64 `json:"swing,omitempty"`
	Capacity float64 `json:"capacity_per_second"`
	// Even says that requests come evenly spaced; without it they come at random.
	Even bool `json:"even,omitempty"`
	// Limit is the mean latency that is promised; 0 promises that all are served.
	Limit time.Duration `json:"limit,omitempty"`
}

// Load is the mean rate as a share of what the task could serve alone, in (0, 1].
func (s *Server) Load() float64 { return s.Rate / s.Capacity }

// Floor is the speed, as a share of that alone, that is needed at a time of the day: a queue
// of requests that come at random (M/M/1) keeps the limit from
//
//	(rate(t) + 1/Limit) / Capacity,  rate(t) = Rate · (1 + Swing · sin(2π t / 24 h))
//
// on, one of requests that come evenly from the larger of the two.
func (s *Server) Floor(at time.Duration) float64 {
	day := float64(at%(24*time.Hour)) / float64(24*time.Hour)
	return s.floor(s.Rate * (1 + float64(s.Swing*math.Sin(2*math.Pi*day))))
}

// Peak is the highest Floor of a day; that of no server is 0.
func (s *Server) Peak() float64 {
	if s == nil {
		return 0
	}
	return s.floor(s.Rate * (1 + s.Swing))
}

func (s *Server) floor(rate float64) float64 {
	var haste float64
	if s.Limit > 0 {
		haste = 1 / s.Limit.Seconds()
	}
	if s.Even {
		return max(rate, haste) / s.Capacity
	}
	return (rate + haste) / s.Capacity
}

// Latency is the mean time to an answer, in seconds, at a speed and the mean rate; +Inf
// where requests come faster at random than they are served. Of those that come evenly
// some are then turned away, and the rest wait for nobody.
func (s *Server) Latency(speed float64) float64 {
	if s.Even {
		return 1 / (speed * s.Capacity)
	}
	if left := speed*s.Capacity - s.Rate; left > 0 {
		return 1 / left
	}
	return math.Inf(1)
}

// Valid reports that Validate finds no fault.
func (s *Server) Valid() bool {
	return s.Rate > 0 && s.Capacity > 0 && s.Swing >= 0 && s.Swing <= 1 && s.Limit >= 0 && s.Peak() <= 1
}

// Validate returns an error that names what a Server cannot have.
func (s *Server) Validate() error {
	if s.Valid() {
		return nil
	}
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", field, value, want))
		}
	}
	check(s.Rate > 0, "rate", s.Rate, "more than 0 requests a second")
	check(s.Capacity > 0, "capacity", s.Capacity, "more than 0 requests a second")
	check(s.Swing >= 0 && s.Swing <= 1, "swing", s.Swing, "0 to 1")
	check(s.Limit >= 0, "limit", s.Limit, "0 or more")
	check(s.Peak() <= 1, "peak", s.Peak(), "one that the task keeps alone, at most 1: fewer requests or a longer limit")
	return errors.Join(errs...)
}
