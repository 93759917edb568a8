package nvmlx

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"example.com/colloc/profile"
)

// Sample is what one device did: a profile.Sample, two counters that only
// hardware has, and the reasons for what is missing. Samples are values without
// pointers to shared state; copying one is safe and costs no allocation.
type Sample struct {
	// Device is the GPU or MIG instance that was read.
	Device DeviceID `json:"device"`
	profile.Sample
	// MemClockMHz is the clock of the device memory.
	MemClockMHz profile.Opt[float64] `json:"mem_clock_mhz,omitzero"`
	// Throttle says what held the clocks back at the moment of reading.
	Throttle profile.Opt[Throttle] `json:"throttle,omitzero"`
	// Missing says why counters that were asked for are absent, where that is
	// known. A counter may also be absent without a reason: the driver had
	// nothing new.
	Missing Missing `json:"missing,omitzero"`
}

// Throttle is the driver's bit set of reasons for clocks below their maximum.
type Throttle uint64

// The reasons that heat, power and idleness give; the other bits of NVML are kept as
// they are, and String names them.
const (
	ThrottleIdle       Throttle = 0x1
	ThrottlePowerCap   Throttle = 0x4
	ThrottleThermal    Throttle = 0x20
	ThrottleHWThermal  Throttle = 0x40
	ThrottlePowerBrake Throttle = 0x80
)

// String lists the reasons, "power cap+thermal", or "none".
func (t Throttle) String() string {
	if t == 0 {
		return "none"
	}
	var names []string
	for i, name := range [...]string{
		"idle", "application clocks", "power cap", "hardware slowdown", "sync boost",
		"thermal", "hardware thermal", "power brake", "display clocks",
	} {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if rest := t &^ 0x1ff; rest != 0 {
		names = append(names, fmt.Sprintf("%#x", uint64(rest)))
	}
	return strings.Join(names, "+")
}

// Missing holds, for each counter, why it is absent. The zero value knows no
// reason. It is comparable and needs no allocation.
type Missing [fieldCount]cause

// Set notes err as the reason for every counter in f; nil takes the reason away.
// Only the sentinel that err wraps is kept; an error that wraps none counts as
// ErrTransient.
func (m *Missing) Set(f Fields, err error) {
	c := causeOf(err)
	for f &= FieldsAll; f != 0; f &= f - 1 {
		m[f.index()] = c
	}
}

// Why returns the sentinel that explains why counter f is absent, or nil if no
// reason is known. Of a set, it looks at the first counter.
func (m *Missing) Why(f Fields) error {
	if i := f.index(); i < fieldCount {
		return m[i].err()
	}
	return nil
}

// Fields returns the counters whose reason is err, one of the package's
// sentinels.
func (m *Missing) Fields(err error) Fields {
	var f Fields
	for i, c := range m {
		if c != 0 && c.err() == err { //nolint:errorlint // both sides are sentinels
			f |= 1 << i
		}
	}
	return f
}

// IsZero reports whether no reason is known.
func (m Missing) IsZero() bool { return m == Missing{} }

// MarshalJSON writes an object from counter to reason.
func (m Missing) MarshalJSON() ([]byte, error) {
	reasons := map[string]cause{} // encoding/json sorts the keys
	for i, c := range m {
		if c != 0 {
			reasons[fieldKeys[i]] = c
		}
	}
	return json.Marshal(reasons)
}

// UnmarshalJSON reads what MarshalJSON writes. Counters that it does not know
// are skipped.
func (m *Missing) UnmarshalJSON(data []byte) error {
	var reasons map[string]cause
	if err := json.Unmarshal(data, &reasons); err != nil {
		return err
	}
	*m = Missing{}
	for key, c := range reasons {
		if i := fieldOf(key).index(); i < fieldCount {
			m[i] = c
		}
	}
	return nil
}

// float returns the counter f of s if it is a plain number, else nil.
func (s *Sample) float(f Fields) *profile.Opt[float64] {
	switch f {
	case FieldGPUBusy:
		return &s.GPUBusy
	case FieldMemBusy:
		return &s.MemBusy
	case FieldPower:
		return &s.PowerWatts
	case FieldEnergy:
		return &s.EnergyJoules
	case FieldSMClock:
		return &s.SMClockMHz
	case FieldMemClock:
		return &s.MemClockMHz
	case FieldTemp:
		return &s.TempCelsius
	case FieldSMActive:
		return &s.SMActive
	case FieldSMOccupancy:
		return &s.SMOccupancy
	case FieldTensorActive:
		return &s.TensorActive
	case FieldDRAMActive:
		return &s.DRAMActive
	case FieldFP32Active:
		return &s.FP32Active
	case FieldPCIe:
		return &s.PCIeBytesPerSec
	case FieldCPUBusy:
		return &s.CPUBusy
	default:
		return nil
	}
}

// Present returns the counters that have a value.
func (s *Sample) Present() Fields {
	var present Fields
	for f := FieldGPUBusy; f < fieldEnd; f <<= 1 {
		if x := s.float(f); x != nil && !x.IsZero() {
			present |= f
		}
	}
	if !s.MemUsed.IsZero() {
		present |= FieldMemUsed
	}
	if !s.Throttle.IsZero() {
		present |= FieldThrottle
	}
	if !s.StepTime.IsZero() {
		present |= FieldStepTime
	}
	return present
}

// Keep removes every counter that is not in f, with its reason.
func (s *Sample) Keep(f Fields) {
	drop := FieldsAll &^ f
	if drop == 0 {
		return
	}
	for rest := drop; rest != 0; rest &= rest - 1 {
		if x := s.float(rest & -rest); x != nil {
			*x = profile.Opt[float64]{}
		}
	}
	if drop.Has(FieldMemUsed) {
		s.MemUsed = profile.Opt[profile.Bytes]{}
	}
	if drop.Has(FieldThrottle) {
		s.Throttle = profile.Opt[Throttle]{}
	}
	if drop.Has(FieldStepTime) {
		s.StepTime = profile.Opt[time.Duration]{}
	}
	s.Missing.Set(drop, nil)
}

// check reports the first counter outside its range: ratios in [0, 1],
// everything else finite and, but for temperature, not negative.
func (s *Sample) check() error {
	for f := FieldGPUBusy; f < fieldEnd; f <<= 1 {
		x := s.float(f)
		if x == nil {
			continue
		}
		v, ok := x.Get()
		switch {
		case !ok:
		case math.IsNaN(v) || math.IsInf(v, 0):
			return fmt.Errorf("%s is %v, want a finite number", f, v)
		case v < 0 && f != FieldTemp:
			return fmt.Errorf("%s is %v, want 0 or more", f, v)
		case v > 1 && ratioFields.Has(f):
			return fmt.Errorf("%s is %v, want a share between 0 and 1, not per cent", f, v)
		}
	}
	if used := s.MemUsed.Or(0); used < 0 {
		return fmt.Errorf("%s is %d, want 0 or more bytes", FieldMemUsed, int64(used))
	}
	if step := s.StepTime.Or(0); step < 0 {
		return fmt.Errorf("%s is %v, want 0 or more", FieldStepTime, step)
	}
	if s.Window < 0 {
		return fmt.Errorf("window is %v, want 0 or more", s.Window)
	}
	return nil
}

const ratioFields = FieldGPUBusy | FieldMemBusy | FieldSMActive | FieldSMOccupancy |
	FieldTensorActive | FieldDRAMActive | FieldFP32Active | FieldCPUBusy
