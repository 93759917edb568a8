package tracefile

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"
	"time"
)

// bench reads a text of about 16 MB; allocations per row tell that they do not
// grow with the text.
func bench(b *testing.B, head string, row func(i int) string, o *Options) {
	b.Helper()
	var text bytes.Buffer
	text.WriteString(head)
	rows := 0
	for text.Len() < 16<<20 {
		text.WriteString(row(rows))
		rows++
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		f, err := Read(bytes.NewReader(text.Bytes()), o)
		if err != nil {
			b.Fatal(err)
		}
		if len(f.Warnings) > 0 {
			b.Fatal(f.Warnings[0])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func BenchmarkReadDmon(b *testing.B) {
	bench(b, "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk     fb   bar1   ccpm\n"+
		"# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz     MB     MB     MB\n",
		func(i int) string {
			return fmt.Sprintf("%5d %6d %6d %6d %6d %6d      0      0      0      0   1215   1410 %6d      5      0\n",
				i%8, 100+i%200, 40+i%9, 45+i%9, i%100, i%50, 1000+i%500)
		}, nil)
}

func BenchmarkReadDcgmi(b *testing.B) {
	bench(b, "#Entity   GPUTL  GRACT  SMACT  SMOCC  FP64A  FP32A  FP16A  TENSO  MCUTL  DRAMA  PCITX         PCIRX         NVLTX  NVLRX  POWER    TOTEC\nID\n",
		func(i int) string {
			return fmt.Sprintf("GPU %d     %-5d  0.%03d  0.%03d  0.%03d  0.000  0.%03d  0.000  0.%03d  %-5d  0.%03d  %-12d  %-12d  N/A    N/A    %d.123  %d\n",
				i%8, i%100, i%1000, i%997, i%991, i%983, i%977, i%50, i%971, 1_000_000+i, 2_000_000+i, 100+i%300, 100_000_000+i)
		}, nil)
}

func BenchmarkReadExposition(b *testing.B) {
	names := []string{
		"DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_MEM_CLOCK", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE",
		"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_MEM_COPY_UTIL", "DCGM_FI_DEV_FB_FREE",
		"DCGM_FI_DEV_FB_USED", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE",
	}
	bench(b, "", func(i int) string {
		name := names[i/8%len(names)]
		value := strconv.Itoa(i % 100)
		if i/8%len(names) >= 9 {
			value = fmt.Sprintf("0.%06d", i%1_000_000)
		}
		return fmt.Sprintf("%s{gpu=\"%d\",UUID=\"GPU-01234567-89ab-cdef-0123-456789abcde%d\",pci_bus_id=\"00000000:07:00.0\","+
			"device=\"nvidia%d\",modelName=\"NVIDIA A100-SXM4-40GB\",Hostname=\"node-1\",DCGM_FI_DRIVER_VERSION=\"550.54.15\"} %s\n", name, i%8, i%8, i%8, value)
	}, nil)
}

func BenchmarkReadCSV(b *testing.B) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	bench(b, "timestamp, index, name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], power.draw [W]\n", func(i int) string {
		return fmt.Sprintf("%s, %d, NVIDIA A100-SXM4-40GB, %d %%, %d %%, %d MiB, %d.%02d W\n",
			start.Add(time.Duration(i/8)*100*time.Millisecond).Format("2006/01/02 15:04:05.000"), i%8, i%100, i%50, 1000+i%5000, 60+i%300, i%100)
	}, &Options{Location: time.UTC})
}
