package sim_test

import (
	"strings"
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/internal/race"
)

// TestParseCluster: a description says how many machines and GPUs there are, or what is
// wrong with it.
func TestParseCluster(t *testing.T) {
	tests := []struct {
		in          string
		nodes, gpus int
		wrong       string
	}{
		{"4xA100-40GB", 1, 4, ""},
		{"8x8xV100", 8, 64, ""},
		{" 2x4xT4 , 3xRTX3090", 3, 11, ""},
		{"1048576xT4", 1, 1 << 20, ""},
		{"A100-40GB", 0, 0, `"A100-40GB" is not`},
		{"", 0, 0, `"" is not`},
		{"4x", 0, 0, `"4x" is not`},
		{"0xT4", 0, 0, "0 is out of range"},
		{"-1xT4", 0, 0, "-1 is out of range"},
		{"4xNOSUCH", 0, 0, `"4xNOSUCH" is not`},
		{"4xA100-40GB MIG 1g.5gb", 0, 0, `"A100-40GB MIG 1g.5gb" is a MIG instance`},
		{"2x3x4xT4", 0, 0, `"2x3x4xT4" is not`},
		{"1048576xNOSUCH", 0, 0, `"1048576xNOSUCH" is not`},
		{"1048577xT4", 0, 0, "1048577 is out of range, want 1 to 1048576"},
		{"1048576x1048576xT4", 0, 0, "more than 1048576 GPUs"},
		{"99999999999999999999xT4", 0, 0, `"99999999999999999999xT4" is not`},
	}
	for _, tt := range tests {
		if race.Enabled && tt.gpus > 1000 {
			continue
		}
		c, err := sim.ParseCluster(tt.in)
		switch {
		case tt.wrong != "":
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("ParseCluster(%q): error %v, want %s", tt.in, err, tt.wrong)
			}
		case err != nil:
			t.Errorf("ParseCluster(%q): error %v", tt.in, err)
		case len(c.Nodes) != tt.nodes || c.GPUs() != tt.gpus:
			t.Errorf("ParseCluster(%q): %d machines and %d GPUs, want %d and %d", tt.in, len(c.Nodes), c.GPUs(), tt.nodes, tt.gpus)
		}
	}
}
