package plan

import "time"

// Settings are what every cell of a file has in common.
type Settings struct {
	Warmup  float64 `json:"warmup_s"`  // seconds of steps that do not count
	Measure float64 `json:"measure_s"` // seconds of steps that do
	Period  float64 `json:"period_s"`  // seconds between samples
	Keep    int     `json:"keep"`      // processes kept between cells
}

// Expect returns how long a cell takes by rule of thumb: a fresh process loads
// the framework for about 8 s, a kept one only builds its model.
func (s Settings) Expect(c *Cell) time.Duration {
	load := 8.0
	if s.Keep > 0 {
		load = 2
	}
	seconds := load + 0.5*float64(len(c.Tasks)) + s.Warmup + s.Measure
	return time.Duration(seconds * float64(time.Second))
}
