package policy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/simtest"
	"example.com/colloc/internal/golden"
	"example.com/colloc/internal/race"
)

// goldenPolicies are those of the file: it holds the engine, so they stay as they
// were when it was written.
func goldenPolicies() []sim.Policy {
	return []sim.Policy{
		policy.FIFO{},
		policy.FIFO{Backfill: true},
		policy.Shortest{},
		policy.Shortest{Service: true},
		policy.LAS{},
		policy.Random{},
		policy.Greedy{NoLearning: true},
		policy.Horus{},
		policy.Lucid{},
		policy.CARMA{},
		policy.CARMA{Blind: true},
		policy.BestFit{},
		policy.RandomNode{},
		policy.FGD{Typical: []sim.Task{{Share: 0.5}}},
	}
}

// TestGolden compares the policies in every scenario of the kit with what they did
// when the file was written: the last column is a hash of all events. Those that
// plan by package packer are left out: they may plan better tomorrow. The file is
// the same on amd64 and arm64, where one machine can test the other's:
//
//	GOARCH=arm64 go test -c -o /tmp/policy.arm64 ./colloc/sim/policy
//	cd colloc/sim/policy && qemu-aarch64 /tmp/policy.arm64 -test.run Golden
func TestGolden(t *testing.T) {
	if race.Enabled {
		t.Skip("the conformance test runs the same with the race detector")
	}
	var got bytes.Buffer
	for _, p := range goldenPolicies() {
		for _, s := range simtest.Scenarios() {
			log, faults := simtest.Replay(p, s)
			if faults != nil {
				t.Errorf("%s, %s: %q", p.Name(), s.Name, faults)
				continue
			}
			var r struct {
				Makespan time.Duration `json:"makespan_ns"`
				MeanJCT  time.Duration `json:"mean_jct_ns"`
				Deaths   int           `json:"oom"`
			}
			if err := json.Unmarshal(log[bytes.LastIndexByte(log[:len(log)-1], '\n')+1:], &r); err != nil {
				t.Fatal(err)
			}
			h := fnv.New64a()
			if _, err := h.Write(log); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%-17s %-17s makespan %10.3f s  mean completion %9.3f s  %2d deaths  %016x\n",
				p.Name(), s.Name, r.Makespan.Seconds(), r.MeanJCT.Seconds(), r.Deaths, h.Sum64())
		}
	}
	golden.Check(t, "golden.txt", got.String())
}
