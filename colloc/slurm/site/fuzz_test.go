package site

import (
	"strings"
	"testing"
)

// FuzzAnswers: no JSON makes a parser panic or answer what cannot be.
func FuzzAnswers(f *testing.F) {
	for _, name := range []string{
		"22.05/squeue.json", "22.05/sinfo.json", "22.05/sacct.json",
		"24.11/squeue.json", "24.11/sinfo.json", "24.11/nodes.json", "24.11/sacct.json",
	} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		jobs, err := ParseJobs(data)
		if err == nil {
			checkJobs(t, jobs)
		}
		nodes, nodesErr := ParseNodes(data)
		s := State{Jobs: jobs, Nodes: nodes}
		for _, d := range s.Devices() {
			if d.Free() > d.Shares || d.Used < 0 || d.Index >= maxDevices {
				t.Fatalf("impossible device %+v", d)
			}
		}
		if nodesErr != nil && len(nodes) > 0 {
			t.Fatalf("%d nodes and %v", len(nodes), nodesErr)
		}
		if records, err := ParseAccounting(data); err == nil {
			checkJobs(t, records)
		}
	})
}

// FuzzText: the same for what scontrol prints and for lists.
func FuzzText(f *testing.F) {
	f.Add(string(recorded(f, "22.05/partitions.txt")))
	f.Add("gpu:a100:8(S:0-1),shard:a100:5(4/8,1/8),gres/gpu:a100=2")
	f.Add("r[1-2,05]n[01-04]x,login")
	f.Add("(n[01-04]") // as no node is called
	f.Add("sbatch: Job 15 to start at 2026-11-21T07:19:13 using 1 processors on nodes g2 in partition main")
	f.Fuzz(func(t *testing.T, printed string) {
		ParsePartitions(printed)
		names, err := ExpandNodes(printed)
		if err == nil {
			again, err := ExpandNodes(strings.Join(names, ","))
			if err != nil || len(again) != len(names) {
				t.Fatalf("%q is %d names, which are %d names, %v", printed, len(names), len(again), err)
			}
		}
		held, err := ParseGres(printed)
		for _, h := range held {
			if err == nil && (h.Count < 0 || h.Each != nil && len(h.Each) != len(h.Index)) {
				t.Fatalf("%q: impossible %+v", printed, h)
			}
		}
		_, _ = ParseForecast(printed)
	})
}

func checkJobs(t *testing.T, jobs []JobInfo) {
	t.Helper()
	for _, j := range jobs {
		if j.ID <= 0 || j.CPUs < 0 || j.Memory < 0 || j.Limit < 0 || j.Ran() < 0 || j.Exit < 0 || j.Signal < 0 {
			t.Fatalf("impossible job %+v", j)
		}
	}
}
