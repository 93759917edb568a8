package tracefile

import (
	"strings"
	"testing"
	"time"

	"example.com/colloc/profile"
)

const reportText = `
==============NVSMI LOG==============

Timestamp                                              : Tue Jul 14 08:12:53 2026
Driver Version                                         : 590.48.01
Attached GPUs                                          : 2
GPU 00000000:00:09.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    GPU UUID                                           : GPU-1
    Minor Number                                       : 3
    FB Memory Usage
        Total                                          : 81559 MiB
        Used                                           : 2048 MiB
    BAR1 Memory Usage
        Used                                           : 1 MiB
    Utilization
        GPU                                            : 75 %
        Memory                                         : 11 %
    Temperature
        GPU Current Temp                               : 59 C
    GPU Power Readings
        Average Power Draw                             : 629.50 W
        Instantaneous Power Draw                       : 588.39 W
    GPU Memory Power Readings
        Average Power Draw                             : 85.83 W
    Clocks
        SM                                             : 1980 MHz
    Max Clocks
        SM                                             : 2000 MHz
    Processes
        GPU instance ID                                : N/A
        Process ID                                     : 11327
            Used GPU Memory                            : 2566 MiB
GPU 00000000:00:0A.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    GPU UUID                                           : GPU-2
    Minor Number                                       : N/A
    Utilization
        Gpu                                            : N/A
`

// TestReport reads two reports of two GPUs, the second a second later.
func TestReport(t *testing.T) {
	f, err := Read(strings.NewReader(reportText+strings.Replace(reportText, ":53 ", ":54 ", 1)), &Options{Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	if f.Format != Report || len(f.Traces) != 2 || len(f.Warnings) != 0 {
		t.Fatalf("got %+v", f)
	}
	first, second := f.Traces[0], f.Traces[1]
	if first.Labels[LabelUUID] != "GPU-1" || first.Labels[LabelGPU] != "3" || first.Labels[LabelName] != "NVIDIA H100 80GB HBM3" || second.Labels[LabelGPU] != "1" {
		t.Errorf("labels %v, %v", first.Labels, second.Labels)
	}
	if len(first.Samples) != 2 || len(second.Samples) != 2 || first.Samples[1].At.Sub(first.Samples[0].At) != time.Second {
		t.Fatalf("got %+v", f.Traces)
	}
	s := first.Samples[0]
	if s.GPUBusy != profile.Some(0.75) || s.MemBusy != profile.Some(0.11) || s.MemUsed != profile.Some(2*profile.GiB) || s.PowerWatts != profile.Some(629.5) {
		t.Errorf("got %+v", s)
	}
	if s := second.Samples[0]; !s.GPUBusy.IsZero() || !s.MemUsed.IsZero() {
		t.Errorf("the second GPU tells nothing, got %+v", s)
	}
}

func FuzzReadReport(f *testing.F) { fuzz(f, reportText) }

func FuzzReadNsys(f *testing.F) {
	fuzz(f, nsysText, "Processing [a.sqlite]...\nTime (%),Total Time (ns),Instances,Name\n50.0,1000,3,gemm\n")
}
