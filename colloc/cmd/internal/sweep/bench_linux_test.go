package sweep

import (
	"math"
	"strconv"
	"testing"
	"time"
)

// BenchmarkEpochs runs the same work twice, with one bar and with one that starts again
// with every epoch, and reports how much longer the second sweep takes (times-as-long) and
// how far apart the means of the measured speeds are (speed-gap). What is between is the
// other way round in every second pair.
//
//	go test ./colloc/cmd/internal/sweep -run '^$' -bench Epochs -benchtime 2x
func BenchmarkEpochs(b *testing.B) {
	const tasks = "12"
	works := map[bool][]string{
		false: {"--", "burn", "-steps", "900", "-mem", "3GiB"},
		true:  {"--", "burn", "-epochs", "10", "-steps", "90", "-mem", "3GiB"},
	}
	took, speeds := make(map[bool]time.Duration), make(map[bool]float64)
	pairs := 0
	for b.Loop() {
		for i := range 2 {
			restarts := (i+pairs)%2 == 1
			dir := b.TempDir()
			began := time.Now()
			check(b, dir, 0, append([]string{"-n", tasks, "-profile", "1s"}, works[restarts]...)...)
			took[restarts] += time.Since(began)
			sum, n := 0.0, 0.0
			for _, row := range jobLogOf(b, dir) {
				if v, err := strconv.ParseFloat(row["speed"], 64); err == nil {
					sum, n = sum+v, n+1
				}
			}
			if n == 0 {
				b.Fatal("no speed was measured")
			}
			speeds[restarts] += sum / n
		}
		pairs++
	}
	b.ReportMetric(took[true].Seconds()/took[false].Seconds(), "times-as-long")
	b.ReportMetric(math.Abs(speeds[true]-speeds[false])/float64(pairs), "speed-gap")
	b.ReportMetric(speeds[false]/float64(pairs), "speed-one-bar")
	b.ReportMetric(speeds[true]/float64(pairs), "speed-epochs")
}
