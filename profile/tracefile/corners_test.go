package tracefile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
)

// TestCSVCorners: rows whose first column is a name in small letters, logs behind one another,
// units of the header, and the one column of power.
func TestCSVCorners(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []profile.Sample
	}{
		"a process first":             {"process_name, pid, used_memory [MiB]\npython, 12, 300 MiB\n", []profile.Sample{{MemUsed: profile.Some(300 * profile.MiB)}}},
		"two headers":                 {"index, utilization.gpu [%]\n0, 5 %\nindex, memory.used [MiB]\n0, 7 MiB\n", []profile.Sample{{GPUBusy: f64(0.05)}, {MemUsed: profile.Some(7 * profile.MiB)}}},
		"a unit of its own":           {"index, memory.used [GiB]\n0, 2\n0, 3 KiB\n", []profile.Sample{{MemUsed: profile.Some(2 * profile.GiB)}, {MemUsed: profile.Some(3 * profile.KiB)}}},
		"one column of power":         {"power.draw.instant [W], power.draw [W], index\n127 W, 144 W, 0\n127 W, [N/A], 0\n", []profile.Sample{{PowerWatts: f64(144)}, {}}},
		"a header of no use first":    {"accounting.mode, index, utilization.gpu [%]\nDisabled, 0, 5 %\n", []profile.Sample{{GPUBusy: f64(0.05)}}},
		"a process called name":       {"process_name, pid, used_memory [MiB]\nname, 12, 300 MiB\nname, 12, 400 MiB\n", []profile.Sample{{MemUsed: profile.Some(300 * profile.MiB)}, {MemUsed: profile.Some(400 * profile.MiB)}}},
		"a process without a command": {"# gpu pid type sm mem command\n0 12 C 50 - python\n0 12 C 60 -\n", []profile.Sample{{GPUBusy: f64(0.5)}, {GPUBusy: f64(0.6)}}},
		"one column":                  {"utilization.gpu [%]\n5 %\n", []profile.Sample{{GPUBusy: f64(0.05)}}},
		"an empty cell":               {"index, utilization.gpu [%], memory.used [MiB]\n0, , 7 MiB\n", []profile.Sample{{MemUsed: profile.Some(7 * profile.MiB)}}},
		"a process called gpu":        {"# gpu pid type sm mem command\n0 12 C 50 - gpu\n0 12 C 60 - gpu\n", []profile.Sample{{GPUBusy: f64(0.5)}, {GPUBusy: f64(0.6)}}},
		"a header of the last letter": {"zone, index, utilization.gpu [%]\n7, 0, 5 %\n", []profile.Sample{{GPUBusy: f64(0.05)}}},
		"indented, after braces":      {"job {17} on n1\n  # gpu sm\n  0 50\n", []profile.Sample{{GPUBusy: f64(0.5)}}},
		"a table's last GPU":          {"# gpu sm\n9 50\n", []profile.Sample{{GPUBusy: f64(0.5)}}},
	} {
		f, err := Read(strings.NewReader(c.text), nil)
		if err != nil || len(f.Traces) != 1 {
			t.Errorf("%s: %+v, %v", name, f, err)
			continue
		}
		got := f.Traces[0].Samples
		for i := range got {
			got[i].Window = 0
		}
		if diff := cmp.Diff(c.want, got, cmpOpts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestXMLCorners: GPUs without a uuid are told apart by their place in each document, a
// document without a time has none (and is sorted first, which is said), and what cannot be is said.
func TestXMLCorners(t *testing.T) {
	const gpus = "<gpu><utilization><gpu_util>10 %</gpu_util></utilization></gpu><gpu><utilization><gpu_util>20 %</gpu_util></utilization></gpu>"
	f, err := Read(strings.NewReader("<nvidia_smi_log><timestamp>Mon Apr  4 16:11:51 2026</timestamp><driver_version>550.54</driver_version><timestamps><timestamp>now</timestamp></timestamps>"+gpus+"</nvidia_smi_log><nvidia_smi_log>"+gpus+"</nvidia_smi_log>"), &Options{Location: time.UTC})
	if err != nil || len(f.Warnings) != 1 || len(f.Traces) != 2 || len(f.Traces[0].Samples) != 2 || !f.Traces[0].Samples[0].At.IsZero() || f.Traces[1].Labels[LabelGPU] != "1" {
		t.Errorf("got %+v, %v", f, err)
	}
	f, err = Read(strings.NewReader("<nvidia_smi_log><timestamp>yesterday</timestamp><gpu><fb_memory_usage><used>-5 MiB</used></fb_memory_usage>"+
		"<utilization><gpu_util>10 %</gpu_util></utilization></gpu></nvidia_smi_log>"), &Options{Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	wantWarnings(t, f, `timestamp "yesterday" is not`, `a value that cannot be: fb_memory_usage/used "-5 MiB"`)
	if _, err := Read(strings.NewReader("<nvidia_smi_log><gpu>"), nil); err == nil || !strings.Contains(err.Error(), "ends inside gpu") {
		t.Errorf("got %v", err)
	}
}

// TestReportDepth: what stands deeper than the values of a section is none of them.
func TestReportDepth(t *testing.T) {
	const head = "==============NVSMI LOG==============\n\nTimestamp : Mon Apr  4 16:11:51 2026\n\nGPU 00000000:01:00.0\n    Utilization\n"
	f, err := Read(strings.NewReader(head+"        Gpu : 10 %\n        Processes\n            Gpu : 99 %\n            Memory : 98 %\n"), &Options{Location: time.UTC})
	if err != nil || f.Traces[0].Samples[0].GPUBusy != f64(0.1) || !f.Traces[0].Samples[0].MemBusy.IsZero() {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestSMIBounds: what is not supported is missing, a sentence is no header, and elements nest
// 64 deep.
func TestSMIBounds(t *testing.T) {
	f, err := Read(strings.NewReader("index, power.draw [W], utilization.gpu [%]\n0, [Not Supported], 5 %\n"), nil)
	if err != nil || len(f.Warnings) != 0 || !f.Traces[0].Samples[0].PowerWatts.IsZero() {
		t.Errorf("not supported: %+v, %v", f, err)
	}
	if _, err := Read(strings.NewReader("\nwhich gpu is it\n"), nil); !errors.Is(err, ErrFormat) {
		t.Errorf("a sentence: %v", err)
	}
	for n, want := range map[int]string{63: "the document ends inside a", 64: "elements nest deeper than 64"} {
		if _, err := Read(strings.NewReader("<nvidia_smi_log>"+strings.Repeat("<a>", n)), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d elements inside one: %v, want %q", n, err, want)
		}
	}
}

// TestInstances: GPU instances and what computes in them are told apart by their kind.
func TestInstances(t *testing.T) {
	f, err := Read(strings.NewReader("#Entity SMACT\nID\nGPU 0 0.1\nGPU-I 0 0.2\nGPU-CI 0 0.3\n"), nil)
	if err != nil || len(f.Traces) != 3 {
		t.Fatalf("%+v, %v", f, err)
	}
	for i, want := range []map[string]string{{LabelGPU: "0"}, {LabelInstance: "0"}, {LabelInstance: "GPU-CI 0"}} {
		if diff := cmp.Diff(want, f.Traces[i].Labels); diff != "" {
			t.Errorf("%d (-want +got):\n%s", i, diff)
		}
	}
}

// TestReportTime: only the line of the report itself is its time.
func TestReportTime(t *testing.T) {
	f, err := Read(strings.NewReader(strings.Replace(reportText, "    Utilization\n", "    Timestamp : never\n    Utilization\n", 1)), &Options{Location: time.UTC})
	if err != nil || len(f.Warnings) != 0 {
		t.Errorf("got %v, %v", f, err)
	}
}

// TestExpositionCorners: another time begins another sample, whatever the metric; labels may be
// empty; sources are told apart by their uuid or, without one, by their index.
func TestExpositionCorners(t *testing.T) {
	for text, want := range map[string][]int{ // samples of each source; of a MIG instance, GPU use says nothing
		"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",GPU_I_ID=\"7\"} 9 1000\nDCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",GPU_I_ID=\"7\"} 0.2 2000\nDCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",GPU_I_ID=\"7\"} 0.2 3000\n": {2},
		"DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",GPU_I_ID=\"7\"} 0.1 1000\nDCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",GPU_I_ID=\"7\"} 0.2 2000\n":                                                        {2},
		"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 40 1000\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} 60 2000\n":                                                                                                           {2},
		"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 40 1000\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} 60 1000\n":                                                                                                           {1},
		"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",pod=\"\",namespace=\"x\"} 40\n":                                                                                                                               {1},
		"DCGM_FI_DEV_GPU_UTIL{} 40\n": {1},
		"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 40\nDCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 40\n":                              {1, 1},
		"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"a\"} 40\nDCGM_FI_DEV_GPU_UTIL{gpu=\"1\",UUID=\"a\"} 40\n":        {2},
		"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"a\"} 40\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"b\"} 40\n":        {1, 1},
		"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"}\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0} 5\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 5\n": {1},
	} {
		f, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []int
		for _, trace := range f.Traces {
			got = append(got, len(trace.Samples))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		if trace := f.Traces[0]; strings.Contains(text, "namespace") && trace.Labels[LabelNamespace] != "x" {
			t.Errorf("%q: labels %v", text, trace.Labels)
		}
	}
}

// TestExpositionUnread: a log without a sample tells of a metric that is not read, and takes no
// comment for one.
func TestExpositionUnread(t *testing.T) {
	_, err := Read(strings.NewReader("# HELP go_gc of {quantile}\n# TYPE go_gc summary\nprocess_cpu_seconds_total 4\ngo_gc{quantile=\"0\"} 5\n"), nil)
	if !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "such as go_gc") {
		t.Errorf("got %v", err)
	}
}

// TestMatrixCorners: an instant query's vector is read as well, a value that cannot be is said
// of the whole, a JSON file with a schema is not taken for an execution trace, and of an object
// with many keys eight are named.
func TestMatrixCorners(t *testing.T) {
	f, err := Read(strings.NewReader(`{"status":"success","data":{"resultType":"vector","result":[
		{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","gpu":"0"},"value":[ 1700000000, "50" ]},
		{"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE","gpu":"0"},"value":[1700000000,""]},
		{"metric":{"__name__":"DCGM_FI_DEV_MEM_COPY_UTIL","gpu":"0"},"value":[1700000000,"500"]}]}}`), nil)
	if err != nil || len(f.Traces) != 1 || len(f.Traces[0].Samples) != 1 || f.Traces[0].Samples[0].GPUBusy != f64(0.5) {
		t.Fatalf("got %+v, %v", f, err)
	}
	if len(f.Warnings) != 1 || !strings.HasPrefix(f.Warnings[0].Error(), "1 values that cannot be") {
		t.Errorf("warnings %v", f.Warnings)
	}
	for text, want := range map[string]error{`{"schema": 1, "nodes": []}`: ErrOther, `{"schema": 1, "x": []}`: ErrFormat, `{"x": 1, "nodes": []}`: ErrFormat} {
		if _, err := Read(strings.NewReader(text), nil); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", text, err, want)
		}
	}
	if _, err := Read(strings.NewReader(`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}`), nil); err == nil || !strings.Contains(err.Error(), "the keys a, b, c, d, e, f, g, h, neither") {
		t.Errorf("nine keys: %v", err)
	}
}
