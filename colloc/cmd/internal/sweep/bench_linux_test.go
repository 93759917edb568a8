package sweep

import (
	"math"
	"strconv"
	"testing"
	"time"
)

// BenchmarkEpochs runs the same work twice, with one bar and with one that starts again
// with every epoch, and reports how much longer the second sweep takes (times-as-long) and
// how far apart the measured speeds of the same task are, in the mean of those that have
// one in both (speed-gap, of so many tasks: speeds). Epochs that are shorter than a window
// are measured over several of them, once a task was seen alone for as long: few are. What
// is between is the other way round in every second pair.
//
//	go test ./colloc/cmd/internal/sweep -run '^$' -bench Epochs -benchtime 2x
func BenchmarkEpochs(b *testing.B) {
	for _, bench := range []struct {
		name string
		work [2][]string // with one bar, with one an epoch
	}{
		{"short", [2][]string{{"-steps", "900"}, {"-epochs", "10", "-steps", "90"}}},
		{"long", [2][]string{{"-steps", "1800"}, {"-epochs", "2", "-steps", "900"}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var took [2]time.Duration
			gap, speeds, pairs := 0.0, 0.0, 0
			for b.Loop() {
				var seen [2]map[string]float64
				for i := range 2 {
					restarts := (i + pairs) % 2
					dir := b.TempDir()
					began := time.Now()
					check(b, dir, 0, append([]string{"-n", "12", "-profile", "1s", "--", "burn", "-mem", "3GiB"}, bench.work[restarts]...)...)
					took[restarts] += time.Since(began)
					seen[restarts] = speedsOf(b, dir)
				}
				for task, speed := range seen[0] {
					if other, ok := seen[1][task]; ok {
						gap, speeds = gap+other-speed, speeds+1
					}
				}
				pairs++
			}
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "times-as-long")
			b.ReportMetric(math.Abs(gap)/max(1, speeds), "speed-gap")
			b.ReportMetric(speeds, "speeds")
		})
	}
}

// speedsOf are the measured speeds in the job log in dir.
func speedsOf(b *testing.B, dir string) map[string]float64 {
	b.Helper()
	speeds := make(map[string]float64)
	for task, row := range jobLogOf(b, dir) {
		if v, err := strconv.ParseFloat(row["speed"], 64); err == nil {
			speeds[task] = v
		}
	}
	return speeds
}
