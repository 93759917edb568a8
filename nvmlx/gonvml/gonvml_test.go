//go:build linux && cgo

package gonvml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/gonvml"
)

// diff reports a difference between what was printed and what should be.
func diff(t *testing.T, got, want string) {
	t.Helper()
	if d := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestNoLibrary(t *testing.T) {
	for name, library := range map[string]string{
		"missing":  "libnvidia-ml-that-is-not-there.so.1",
		"no ELF":   filepath.Join(t.TempDir(), "libnvidia-ml.so.1"),
		"not NVML": "",
	} {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "no ELF":
				if err := os.WriteFile(library, []byte("hello"), 0o600); err != nil {
					t.Fatal(err)
				}
			case "not NVML":
				library = build(t, "-DNOTNVML")
			}
			got := run(t, library, "inventory")
			if !strings.Contains(got, "is: no NVIDIA driver") || !strings.Contains(got, "gonvml: open: ") {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

func TestInitFails(t *testing.T) {
	library := build(t)
	for code, want := range map[string]string{
		"9":   "no NVIDIA driver: the library is there, the kernel module is not",
		"18":  "driver and library versions differ: reboot",
		"4":   "no permission: the device files are closed to this user",
		"999": "failed for the moment: see nvidia-smi",
		"6":   "unavailable: see nvidia-smi",
	} {
		if got := run(t, library, "inventory", "FAKE_FAIL=nvmlInit_v2="+code); !strings.Contains(got, want) {
			t.Errorf("code %s: got\n%s\nwant %q", code, got, want)
		}
	}
}

func TestInventory(t *testing.T) {
	library := build(t)
	diff(t, run(t, library, "inventory"), `
{"driver":"580.95.05","nvml":"13.580.95.05","cuda":"13.1"}
{"id":"GPU-0","index":0,"name":"NVIDIA H100 80GB HBM3","pci_bus_id":"00000000:3B:00.0","compute_capability":9,"memory":85520809984,"mem_reserved":586153984,"numa_node":0,"compute_mode":3,"mig_enabled":false,"mps_active":true,"gpm":true}
{"id":"GPU-1","index":1,"name":"NVIDIA H100 80GB HBM3","pci_bus_id":"00000000:3C:00.0","compute_capability":9,"memory":85520809984,"mem_reserved":586153984,"numa_node":1,"compute_mode":3,"mig_enabled":false,"mps_active":false,"gpm":false}`)
	const bare = `{"driver":"580.95.05","nvml":"13.580.95.05","cuda":"13.1"}`
	diff(t, run(t, library, "inventory", "FAKE_COUNT=0"), bare) // a host without GPUs
	diff(t, run(t, library, "inventory", "FAKE_COUNT=1", "FAKE_SENTINEL=1"), bare+`
{"id":"GPU-0","index":0,"name":"NVIDIA H100 80GB HBM3","pci_bus_id":"00000000:3B:00.0","compute_capability":9,"compute_mode":3,"mig_enabled":false,"mps_active":true,"gpm":true}`)
	diff(t, run(t, library, "inventory", "FAKE_COUNT=1", "FAKE_FAIL=nvmlDeviceGetName=999,nvmlDeviceGetPciInfo_v3=3,nvmlDeviceGetCudaComputeCapability=3,nvmlDeviceGetNumaNodeId=3,"+
		"nvmlDeviceGetComputeMode=4,nvmlDeviceGetMigMode=999,nvmlGpmQueryDeviceSupport=999,nvmlDeviceGetMemoryInfo_v2=25,nvmlDeviceGetMemoryInfo=999"), bare+`
{"id":"GPU-0","index":0,"name":"","mps_active":true}`)
	diff(t, run(t, library, "inventory", "FAKE_COUNT=1", "FAKE_MIG=1"), bare+`
{"id":"GPU-0","index":0,"name":"NVIDIA H100 80GB HBM3","pci_bus_id":"00000000:3B:00.0","compute_capability":9,"memory":85520809984,"mem_reserved":586153984,"numa_node":0,"compute_mode":3,"mig_enabled":true,"mps_active":true,"gpm":true}
{"id":"MIG-0-0","parent":"GPU-0","index":1,"name":"NVIDIA H100 80GB HBM3","pci_bus_id":"00000000:3B:00.0","compute_capability":9,"memory":10468982784,"mem_reserved":586153984,"sms":16,"numa_node":0,"compute_mode":3,"gpm":true}
{"id":"MIG-0-1","parent":"GPU-0","index":3,"name":"NVIDIA H100 80GB HBM3","pci_bus_id":"00000000:3B:00.0","compute_capability":9,"memory":10468982784,"mem_reserved":586153984,"sms":16,"numa_node":0,"compute_mode":3,"gpm":true}`)
	if got := run(t, library, "inventory", "FAKE_FAIL=nvmlDeviceGetUUID=4"); !strings.Contains(got, "UUID of GPU 0: NVML code 4: no permission") || !strings.Contains(got, "UUID of GPU 1") {
		t.Errorf("where every GPU is closed:\n%s", got)
	}
}

func TestRead(t *testing.T) {
	library := build(t)
	tests := []struct {
		name string
		env  []string
		want string
	}{
		{"all well", nil, `
{"device":"GPU-0","at":"2026-03-01T12:00:00Z","gpu_busy":0.93,"mem_busy":0.41,"mem_used":11534336000,"power_watts":312.5,"energy_joules":123456.789,"sm_clock_mhz":1980,"temp_celsius":61,"mem_clock_mhz":2619,"throttle":36}
{"device":"GPU-1","at":"2026-03-01T12:00:00Z","gpu_busy":0.93,"mem_busy":0.41,"mem_used":11534336000,"power_watts":312.5,"energy_joules":123456.789,"sm_clock_mhz":1980,"temp_celsius":61,"mem_clock_mhz":2619,"throttle":36}`},
		{"values that mean none", []string{"FAKE_SENTINEL=1"}, `
{"device":"GPU-0","at":"2026-03-01T12:00:00Z"}
{"device":"GPU-1","at":"2026-03-01T12:00:00Z"}`},
		{"refusals", []string{"FAKE_FAIL=nvmlDeviceGetPowerUsage=4,nvmlDeviceGetTotalEnergyConsumption=3,nvmlDeviceGetTemperature=10," +
			"nvmlDeviceGetUtilizationRates=6,nvmlDeviceGetClockInfo=999,nvmlDeviceGetCurrentClocksEventReasons=13,nvmlDeviceGetMemoryInfo_v2=25"}, `
{"device":"GPU-0","at":"2026-03-01T12:00:00Z","mem_used":12120489984,"missing":{"energy_joules":"not supported","mem_clock_mhz":"failed for the moment","power_watts":"no permission","sm_clock_mhz":"failed for the moment","temp_celsius":"failed for the moment","throttle":"not supported"}}
{"device":"GPU-1","at":"2026-03-01T12:00:00Z","mem_used":12120489984,"missing":{"energy_joules":"not supported","mem_clock_mhz":"failed for the moment","power_watts":"no permission","sm_clock_mhz":"failed for the moment","temp_celsius":"failed for the moment","throttle":"not supported"}}`},
		{"MIG", []string{"FAKE_MIG=1"}, `
{"device":"GPU-0","at":"2026-03-01T12:00:00Z","mem_used":11534336000,"power_watts":312.5,"energy_joules":123456.789,"sm_clock_mhz":1980,"temp_celsius":61,"mem_clock_mhz":2619,"throttle":36,"missing":{"gpu_busy":"not supported","mem_busy":"not supported"}}
{"device":"MIG-0-0","at":"2026-03-01T12:00:00Z","mem_used":5242880000,"sm_clock_mhz":1980,"temp_celsius":61,"mem_clock_mhz":2619,"throttle":36,"missing":{"energy_joules":"not supported","gpu_busy":"not supported","mem_busy":"not supported","power_watts":"not supported"}}
{"device":"MIG-0-1","at":"2026-03-01T12:00:00Z","mem_used":5242880000,"sm_clock_mhz":1980,"temp_celsius":61,"mem_clock_mhz":2619,"throttle":36,"missing":{"energy_joules":"not supported","gpu_busy":"not supported","mem_busy":"not supported","power_watts":"not supported"}}
{"device":"GPU-1","at":"2026-03-01T12:00:00Z","gpu_busy":0.93,"mem_busy":0.41,"mem_used":11534336000,"power_watts":312.5,"energy_joules":123456.789,"sm_clock_mhz":1980,"temp_celsius":61,"mem_clock_mhz":2619,"throttle":36}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { diff(t, run(t, library, "read", tt.env...), tt.want) })
	}
}

// A driver without a function must make counters missing, not end the process.
func TestMissingSymbols(t *testing.T) {
	t.Run("old", func(t *testing.T) {
		library := build(t, "-DOLD")
		diff(t, run(t, library, "inventory"), `
{"driver":"580.95.05","cuda":"9.2"}
{"id":"GPU-0","index":0,"name":"NVIDIA H100 80GB HBM3","memory":85520809984}
{"id":"GPU-1","index":1,"name":"NVIDIA H100 80GB HBM3","memory":85520809984}`)
		diff(t, run(t, library, "read"), `
{"device":"GPU-0","at":"2026-03-01T12:00:00Z","gpu_busy":0.93,"mem_busy":0.41,"mem_used":12120489984,"power_watts":312.5,"sm_clock_mhz":1980,"temp_celsius":61,"mem_clock_mhz":2619,"throttle":4,"missing":{"energy_joules":"not supported"}}
{"device":"GPU-1","at":"2026-03-01T12:00:00Z","gpu_busy":0.93,"mem_busy":0.41,"mem_used":12120489984,"power_watts":312.5,"sm_clock_mhz":1980,"temp_celsius":61,"mem_clock_mhz":2619,"throttle":4,"missing":{"energy_joules":"not supported"}}`)
		diff(t, run(t, library, "processes"), `
[{"pid":1000,"kind":"compute","mem_used":1073741824},{"pid":1001,"kind":"compute","mem_used":2147483648}]
[{"pid":1000,"kind":"compute","mem_used":1073741824},{"pid":1001,"kind":"compute","mem_used":2147483648}]`)
	})
	t.Run("bare", func(t *testing.T) {
		library := build(t, "-DBARE")
		diff(t, run(t, library, "inventory", "FAKE_FAIL="), `
{}
{"id":"GPU-0","index":0,"name":""}
{"id":"GPU-1","index":1,"name":""}`)
		got := run(t, library, "read")
		const all = `{"energy_joules":"not supported","gpu_busy":"not supported","mem_busy":"not supported","mem_clock_mhz":"not supported","mem_used":"not supported","power_watts":"not supported","sm_clock_mhz":"not supported","temp_celsius":"not supported","throttle":"not supported"}`
		diff(t, got, `
{"device":"GPU-0","at":"2026-03-01T12:00:00Z","missing":`+all+`}
{"device":"GPU-1","at":"2026-03-01T12:00:00Z","missing":`+all+`}`)
		diff(t, run(t, library, "processes"), `
error: gonvml: processes of GPU-0: handle: NVML code 13: not supported
error: gonvml: processes of GPU-1: handle: NVML code 13: not supported`)
		diff(t, run(t, library, "mig"), `
error: gonvml: MIG of GPU-0: no MIG mode here: not supported
error: gonvml: MIG of GPU-1: no MIG mode here: not supported
error: gonvml: MIG of MIG-0-0: no GPU or MIG instance "MIG-0-0" here: no such device
error: gonvml: processes of MIG-0-1: no GPU or MIG instance "MIG-0-1" here: no such device`)
	})
}

func TestDeviceLost(t *testing.T) {
	library := build(t)
	const lost = "GPU-1 missing gonvml: read GPU-1: device lost\n"
	const well = "GPU-0 0.93 <nil>\n"
	diff(t, run(t, library, "lost", "FAKE_LOST=3"),
		well+"GPU-1 0.93 <nil>\n"+well+"GPU-1 0.93 <nil>\n"+well+lost+well+lost+"1 devices left <nil>")
}

func TestProcesses(t *testing.T) {
	library := build(t)
	diff(t, run(t, library, "processes", "FAKE_PROCS=3"), `
[{"pid":1000,"kind":"compute","mem_used":1073741824},{"pid":1001,"name":"python1001","kind":"mps","mem_used":1073741824},{"pid":1002,"name":"python1002","kind":"compute","mem_used":3221225472}]
[{"pid":1000,"kind":"compute","mem_used":1073741824},{"pid":1001,"name":"python1001","kind":"compute","mem_used":2147483648},{"pid":1002,"name":"python1002","kind":"compute","mem_used":3221225472}]`)
	for _, tt := range []struct {
		name string
		env  []string
		want string
	}{
		{"none", []string{"FAKE_PROCS=0"}, "0 <nil>"},
		{"many", []string{"FAKE_PROCS=5000"}, "5000 <nil>"},
		{"list grows while it is read", []string{"FAKE_PROCS=100", "FAKE_GROW=3"}, "100 <nil>"},
		{"list grows for ever", []string{"FAKE_GROW=1000000"}, "0 gonvml: processes of GPU-1: compute list: NVML code 7: failed for the moment"},
		{"memory not known", []string{"FAKE_SENTINEL=1"}, "2 <nil>"},
		{"driver with garbled lists", []string{"FAKE_DRIVER=535.54.03"}, "0 gonvml: processes of GPU-1: driver 535.54.03 lists processes " +
			"in a layout that it does not declare; update it to 535.98 or later: not supported"},
		{"first driver with garbled lists", []string{"FAKE_DRIVER=535.43"}, "0 gonvml: processes of GPU-1: driver 535.43 lists"},
		{"driver before it", []string{"FAKE_DRIVER=535.42.01"}, "2 <nil>"},
		{"driver that was mended", []string{"FAKE_DRIVER=535.98"}, "2 <nil>"},
		{"another driver", []string{"FAKE_DRIVER=545.54.03"}, "2 <nil>"},
		{"nothing there", []string{"FAKE_FAIL=nvmlDeviceGetComputeRunningProcesses_v3=6,nvmlDeviceGetMPSComputeRunningProcesses_v3=21"}, "0 <nil>"},
		{"refused", []string{"FAKE_FAIL=nvmlDeviceGetComputeRunningProcesses_v3=4,nvmlDeviceGetMPSComputeRunningProcesses_v3=4"}, "0 gonvml: processes of GPU-1: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(t, library, "count processes", tt.env...); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestProcessUtilization(t *testing.T) {
	library := build(t)
	const idle = `[{"pid":1000,"kind":"compute","mem_used":1073741824},{"pid":1001,"name":"python1001","kind":"compute","mem_used":2147483648}]`
	const busy = `[{"pid":1000,"kind":"compute","mem_used":1073741824,"sm_busy":0.4},{"pid":1001,"name":"python1001","kind":"compute","mem_used":2147483648}]`
	diff(t, run(t, library, "processes twice"), idle+"\n"+idle)
	diff(t, run(t, library, "processes twice", "FAKE_UTIL=1"), busy+"\n"+idle) // the second time there is nothing new
	diff(t, run(t, library, "processes twice", "FAKE_UTIL=2"), idle+"\n"+idle) // the binding panics here
	diff(t, run(t, library, "processes twice", "FAKE_UTIL=3"), busy+"\n"+idle) // the driver repeats itself
}

func TestMIG(t *testing.T) {
	library := build(t)
	diff(t, run(t, library, "mig", "FAKE_MIG=1"), `
{"enabled":true,"pending":true,"max_instances":7,"instances":[{"id":"MIG-0-0","index":1,"gpu_instance":7,"compute_instance":0,"gpu_slices":1,"compute_slices":1,"sms":16,"memory":10468982784},{"id":"MIG-0-1","index":3,"gpu_instance":8,"compute_instance":0,"gpu_slices":1,"compute_slices":1,"sms":16,"memory":10468982784}]}
{"enabled":false,"pending":false,"max_instances":7}
error: gonvml: MIG of MIG-0-0: no MIG mode here: not supported
[{"pid":1000,"kind":"compute","mem_used":1073741824,"gpu_instance":8,"compute_instance":0},{"pid":1001,"name":"python1001","kind":"mps","mem_used":1073741824,"gpu_instance":8,"compute_instance":0}]`)
	const sheet = `"memory":10334765056`
	if got := run(t, library, "mig", "FAKE_MIG=1", "FAKE_FAIL=nvmlDeviceGetMemoryInfo_v2=3,nvmlDeviceGetMemoryInfo=3"); strings.Count(got, sheet) != 2 {
		t.Errorf("no %s of the two instances in\n%s", sheet, got)
	}
}

func TestGPM(t *testing.T) {
	library := build(t)
	const absent = `"missing":{"dram_active":"not supported","fp32_active":"not supported","pcie_bytes_per_sec":"not supported","sm_active":"not supported","sm_occupancy":"not supported","tensor_active":"not supported"}}`
	const values = `"sm_active":0.125,"sm_occupancy":0.1875,"tensor_active":0.3125,"dram_active":1,"fp32_active":0.75,"pcie_bytes_per_sec":1073741824}`
	diff(t, run(t, library, "gpm", "FAKE_MIG=1", "FAKE_INSTANCE=0"), `
{"device":"GPU-0","at":"2026-03-01T12:00:00Z"}
{"device":"GPU-1","at":"2026-03-01T12:00:00Z",`+absent+`
{"device":"MIG-0-0","at":"2026-03-01T12:00:00Z"}
{"device":"GPU-0","at":"2026-03-01T12:00:00.099Z"}
{"device":"GPU-1","at":"2026-03-01T12:00:00.099Z",`+absent+`
{"device":"MIG-0-0","at":"2026-03-01T12:00:00.099Z"}
{"device":"GPU-0","at":"2026-03-01T12:00:00.199Z","window":199000000,`+values+`
{"device":"GPU-1","at":"2026-03-01T12:00:00.199Z",`+absent+`
{"device":"MIG-0-0","at":"2026-03-01T12:00:00.199Z","window":199000000,`+values+`
{"device":"GPU-0","at":"2026-03-01T12:00:00.349Z","window":150000000,`+values+`
{"device":"GPU-1","at":"2026-03-01T12:00:00.349Z",`+absent+`
{"device":"MIG-0-0","at":"2026-03-01T12:00:00.349Z","window":150000000,`+values)
	one := []string{
		`{"device":"GPU-0","at":"2026-03-01T12:00:00Z","missing":` + strings.ReplaceAll(absent[len(`"missing":`):], "not supported", "failed for the moment"),
		`{"device":"GPU-0","at":"2026-03-01T12:00:00.099Z"}`,
		`{"device":"GPU-0","at":"2026-03-01T12:00:00.199Z","window":100000000,` + strings.Replace(values, "1073741824", "0", 1),
	}
	got := run(t, library, "gpm", "FAKE_ALLOC=2", "FAKE_PCIE=0") // and a second try, of a GPU that is idle
	for _, line := range one {
		if !strings.Contains(got, line) {
			t.Errorf("there is no line %s in\n%s", line, got)
		}
	}
	const start = `{"device":"GPU-0","at":"2026-03-01T12:00:00.199Z","window":199000000`
	for _, tt := range []struct{ env, want string }{
		{"FAKE_SENTINEL=1", `}`},
		{"FAKE_FAIL=metric3=4,metric20=4", `,"sm_active":0.125,"tensor_active":0.3125,"dram_active":1,"fp32_active":0.75,"missing":{"pcie_bytes_per_sec":"no permission","sm_occupancy":"no permission"}}`},
		{"FAKE_FAIL=metric21=3", strings.Replace(`,`+values, `"pcie_bytes_per_sec":1073741824`, `"missing":{"pcie_bytes_per_sec":"not supported"}`, 1)},
	} {
		if got := run(t, library, "gpm", tt.env); !strings.Contains(got, start+tt.want) {
			t.Errorf("%s: there is no line %s in\n%s", tt.env, start+tt.want, got)
		}
	}
	const none = `{"device":"MIG-0-0","at":"2026-03-01T12:00:00Z",` + absent
	if got := run(t, library, "gpm", "FAKE_MIG=1", "FAKE_FAIL=nvmlDeviceGetGpuInstanceId=3"); !strings.Contains(got, none) {
		t.Errorf("an instance without a number: there is no line %s in\n%s", none, got)
	}
	if got := run(t, library, "gpm", "FAKE_FAIL=nvmlGpmQueryDeviceSupport=15"); strings.Count(got, "error: gonvml: read GPU-0: device lost") != 4 {
		t.Errorf("a device that is lost:\n%s", got)
	}
	got = run(t, library, "gpm", "FAKE_FAIL=nvmlGpmSampleGet=4")
	if !strings.Contains(got, `"sm_active":"no permission"`) {
		t.Errorf("without privilege:\n%s", got)
	}
}

func TestEvents(t *testing.T) {
	library := build(t)
	for _, env := range []string{"FAKE_EVENTS=", "FAKE_EVENTS=5", "FAKE_ECC=0"} {
		diff(t, run(t, library, "events", env, "FAKE_MIG=1"), `
gonvml: events: no GPU "GPU-7" here: no such device
gonvml: events: none of 0 devices has events: not supported
GPU-1 xid 79 2026-03-01T12:00:00Z
GPU-1 memory missing 2026-03-01T12:00:00Z
open: false
GPU-1 xid 79 2026-03-01T12:00:00Z
GPU-1 memory missing 2026-03-01T12:00:00Z
close: <nil>
open: false
gonvml: events: the source is closed: unavailable`)
	}
	if got := run(t, build(t, "-DOLD"), "events"); !strings.Contains(got, "the driver has no nvmlEventSetCreate: not supported") {
		t.Errorf("old driver: %s", got)
	}
}

func TestConcurrent(t *testing.T) {
	if got := run(t, build(t), "concurrent", "FAKE_MIG=1"); got != "" {
		t.Error(got)
	}
}

// BenchmarkRead is what one reading costs beside the driver's own time: the fake
// library answers at once.
func BenchmarkRead(b *testing.B) {
	hand := &clock{}
	src, err := gonvml.Open(&gonvml.Options{Library: build(b), Clock: hand})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		what nvmlx.Fields
	}{{"basic", nvmlx.FieldsBasic}, {"gpm", nvmlx.FieldsGPM}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				hand.advance(time.Second)
				if _, err := src.Read(b.Context(), "GPU-0", c.what); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	if err := src.Close(); err != nil {
		b.Fatal(err)
	}
}

func TestReopen(t *testing.T) {
	diff(t, run(t, build(t), "reopen"), `
close: <nil> <nil>
read: gonvml: read GPU-0: the source is closed: unavailable
devices: gonvml: devices: the source is closed: unavailable
again: 0.93 <nil>
stranger: gonvml: read GPU-7: no GPU or MIG instance "GPU-7" here: no such device true
again: 0.93 <nil>
stranger: gonvml: read GPU-7: no GPU or MIG instance "GPU-7" here: no such device true
another: true`)
}
