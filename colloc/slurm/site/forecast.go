package site

import (
	"errors"
	"strings"
	"time"
)

// Forecast is when and where Slurm would start a job as things stand.
type Forecast struct {
	// Start is in UTC. Where jobs have no time limit it is far in the future.
	Start time.Time `json:"start"`
	// CPUs, Nodes and Partition are what the job would get.
	CPUs      int      `json:"cpus"`
	Nodes     []string `json:"nodes"`
	Partition string   `json:"partition"`
}

// ParseForecast reads what sbatch --test-only prints: "sbatch: Job 15 to start at 2026-11-21T07:19:13 using 1
// processors on nodes g2 in partition main".
func ParseForecast(printed string) (Forecast, error) {
	var f Forecast
	for line := range strings.Lines(printed) {
		_, rest, ok := strings.Cut(line, " to start at ")
		if !ok {
			continue
		}
		w := strings.Fields(rest)
		for i := 1; i < len(w); i++ {
			var err error
			switch w[i-1] {
			case "using":
				f.CPUs = leading(w[i])
			case "nodes":
				f.Nodes, err = ExpandNodes(w[i])
			case "partition":
				f.Partition = w[i]
			}
			if err != nil {
				return f, err
			}
		}
		if len(w) > 0 {
			f.Start = slurmTime(w[0])
		}
		return f, nil
	}
	return f, errors.New("no line says when the job would start")
}
