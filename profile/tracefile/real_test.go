package tracefile

import (
	"strings"
	"testing"
)

// TestRealTools reads what the tools print in corners of their manuals.
func TestRealTools(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		busy       []float64 // of the first trace; -1 is missing
		watts      float64   // of its last sample; 0 is missing
	}{
		{
			"a byte order mark",
			"\xef\xbb\xbftimestamp, index, utilization.gpu [%]\r\n2026/03/01 12:00:00.000, 0, 50 %\r\n",
			[]float64{0.5},
			0,
		},
		{
			"a byte order mark before a table",
			"\xef\xbb\xbf# gpu   sm   pwr\n# Idx    %     W\n    0   80   151\n",
			[]float64{0.8},
			151,
		},
		{
			"a GPU that fell off the bus",
			"index, utilization.gpu [%]\n0, 50 %\n0, [GPU is lost]\n0, [Unknown Error]\n0, [No Permission]\n",
			[]float64{0.5, -1, -1, -1},
			0,
		},
		{
			"power of the moment",
			"index, utilization.gpu [%], power.draw.instant [W]\n0, 50 %, 99.50 W\n",
			[]float64{0.5},
			99.5,
		},
		{
			"dmon with --format csv",
			"#gpu, pwr, gtemp, mtemp, sm, mem\n#Idx, W, C, C, %, %\n0, 43, 48, -, 7, 1\n0, 44, 48, -, -, 1\n",
			[]float64{0.07, -1},
			44,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Read(strings.NewReader(tt.text), &Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range f.Warnings {
				if !strings.Contains(w.Error(), "Options.Location") {
					t.Errorf("warning: %v", w)
				}
			}
			if len(f.Traces) != 1 || len(f.Traces[0].Samples) != len(tt.busy) {
				t.Fatalf("read %+v", f.Traces)
			}
			samples := f.Traces[0].Samples
			for i, want := range tt.busy {
				if got := samples[i].GPUBusy.Or(-1); got != want {
					t.Errorf("sample %d: busy %v, want %v", i, got, want)
				}
			}
			if got := samples[len(samples)-1].PowerWatts.Or(0); got != tt.watts {
				t.Errorf("power %v, want %v", got, tt.watts)
			}
		})
	}
}
