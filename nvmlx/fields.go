package nvmlx

import (
	"fmt"
	"math/bits"
	"strings"
)

// Fields is a set of counters. A constant below is a set of one; combine them
// with |. The zero value asks for nothing.
type Fields uint32

// The counters of a Sample.
const (
	FieldGPUBusy Fields = 1 << iota
	FieldMemBusy
	FieldMemUsed
	FieldPower
	FieldEnergy
	FieldSMClock
	FieldMemClock
	FieldTemp
	FieldThrottle
	FieldSMActive
	FieldSMOccupancy
	FieldTensorActive
	FieldDRAMActive
	FieldFP32Active
	FieldPCIe
	FieldCPUBusy
	FieldStepTime

	fieldEnd
)

// Sets of counters that cost about the same to read.
const (
	// FieldsBasic are the counters that every driver answers at once: one short
	// driver call each.
	FieldsBasic = FieldGPUBusy | FieldMemBusy | FieldMemUsed | FieldPower | FieldEnergy |
		FieldSMClock | FieldMemClock | FieldTemp | FieldThrottle
	// FieldsGPM are the counters of GPU performance monitoring (Hopper and
	// later): means over the time since the previous read.
	FieldsGPM = FieldSMActive | FieldSMOccupancy | FieldTensorActive | FieldDRAMActive |
		FieldFP32Active | FieldPCIe
	// FieldsAll are all counters there are.
	FieldsAll = fieldEnd - 1
)

// fieldCount is the number of counters.
const fieldCount = 17

// index returns the number of the lowest counter in f, or fieldCount if f is
// empty.
func (f Fields) index() int { return min(bits.TrailingZeros32(uint32(f)), fieldCount) }

// Has reports whether f contains all of g.
func (f Fields) Has(g Fields) bool { return f&g == g }

// String lists the counters by the keys that recordings use, separated by "+";
// the empty set is "none".
func (f Fields) String() string {
	var names []string
	for i, key := range fieldKeys {
		if f.Has(1 << i) {
			names = append(names, key)
		}
	}
	if rest := f &^ FieldsAll; rest != 0 {
		names = append(names, fmt.Sprintf("fields(%#x)", uint32(rest)))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "+")
}

// fieldKeys are the JSON keys of the counters in the order of their bits.
//
//nolint:gochecknoglobals // read-only table
var fieldKeys = [fieldCount]string{
	"gpu_busy", "mem_busy", "mem_used", "power_watts", "energy_joules",
	"sm_clock_mhz", "mem_clock_mhz", "temp_celsius", "throttle",
	"sm_active", "sm_occupancy", "tensor_active", "dram_active", "fp32_active",
	"pcie_bytes_per_sec", "cpu_busy", "step_time",
}

// fieldOf returns the counter whose key is key, or 0.
func fieldOf(key string) Fields {
	for i, k := range fieldKeys {
		if k == key {
			return 1 << i
		}
	}
	return 0
}
