package screen

import (
	"fmt"
	"strings"
	"time"

	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/profile"
)

// Measured says what was measured of a run of a kind of task.
func Measured(kind string, p *profile.Profile, t *solo.Timing) string {
	var b strings.Builder
	fmt.Fprintf(&b, "measured %s (%q, %v alone):", t.Run, kind, t.Watched.Round(100*time.Millisecond))
	for _, f := range []struct {
		feature profile.Feature
		format  func(float64) string
	}{
		{profile.PeakMemory, func(x float64) string { return "memory " + profile.BytesOf(x).String() }},
		{profile.MeanSMActive, func(x float64) string { return "SMs " + Percent(x) }},
		{profile.MeanGPUBusy, func(x float64) string { return "GPU busy " + Percent(x) }},
	} {
		if x, ok := p.Vector.Get(f.feature); ok {
			fmt.Fprintf(&b, " %s,", f.format(x))
		}
	}
	if step, ok := t.Step.Get(); ok {
		fmt.Fprintf(&b, " %v a step", Rounded(step))
	} else {
		b.WriteString(" no steps seen")
	}
	return b.String()
}
