package gather

import "example.com/colloc/profile"

// Quantity is what a column or metric measures, in the unit of profile.Sample.
type Quantity uint8

// The quantities that are read; ratios stand together, from GPUBusy to FP32Active.
const (
	Ignored Quantity = iota
	GPUBusy
	GraphicsActive // stands in for GPUBusy where that is missing
	MemBusy
	SMActive
	SMOccupancy
	TensorActive
	DRAMActive
	FP32Active
	MemUsed
	Power
	Energy
	SMClock
	Temperature
	PCIeSent
	PCIeReceived
)

// Measure is a quantity in a unit of the log.
type Measure struct {
	Quantity Quantity
	Unit     Unit
}

// In returns the measure of a quantity in a unit.
func (q Quantity) In(u Unit) Measure { return Measure{q, u} }

// Unit is a unit that logs use.
type Unit uint8

// The units that logs use.
const (
	One Unit = iota
	Percent
	Milli
	Micro
	Mega
	Kibi
	Mebi
	Gibi
)

// of converts a number of units to ours. Where the result is not exact it is
// the nearest, so that 95 % is 0.95.
func (u Unit) of(v float64) float64 {
	switch u {
	case Percent:
		return v / 100
	case Milli:
		return v / 1000
	case Micro:
		return v / 1e6
	case Mega:
		return v * 1e6
	case Kibi:
		return v * (1 << 10)
	case Mebi:
		return v * (1 << 20)
	case Gibi:
		return v * (1 << 30)
	default:
		return v
	}
}

// Row is a sample in the making.
type Row struct {
	profile.Sample
	graphics profile.Opt[float64]
	sent     profile.Opt[float64]
	received profile.Opt[float64]
}

// Put stores a value in the log's unit; false is a value that cannot be. A
// ratio that rounding in the tool took above 1, by at most 5 %, is 1.
func (r *Row) Put(m Measure, v float64) bool {
	v = m.Unit.of(v)
	if m.Quantity >= GPUBusy && m.Quantity <= FP32Active && v > 1 && v <= 1.05 {
		v = 1
	}
	if v < 0 && m.Quantity != Temperature || m.Quantity >= GPUBusy && m.Quantity <= FP32Active && v > 1 {
		return false
	}
	x := profile.Some(v)
	switch m.Quantity {
	case GPUBusy:
		r.GPUBusy = x
	case GraphicsActive:
		r.graphics = x
	case MemBusy:
		r.MemBusy = x
	case SMActive:
		r.SMActive = x
	case SMOccupancy:
		r.SMOccupancy = x
	case TensorActive:
		r.TensorActive = x
	case DRAMActive:
		r.DRAMActive = x
	case FP32Active:
		r.FP32Active = x
	case MemUsed:
		if v > 1<<50 {
			return false
		}
		r.MemUsed = profile.Some(profile.Bytes(v))
	case Power:
		r.PowerWatts = x
	case Energy:
		r.EnergyJoules = x
	case SMClock:
		r.SMClockMHz = x
	case Temperature:
		r.TempCelsius = x
	case PCIeSent:
		r.sent = x
	case PCIeReceived:
		r.received = x
	case Ignored:
	}
	return true
}

// finish makes the row a whole sample; before is the sample before it of the
// same source.
func (r *Row) finish(mig bool, before *profile.Sample) {
	s := &r.Sample
	if mig {
		s.GPUBusy = profile.Opt[float64]{}
	}
	if s.GPUBusy.IsZero() {
		s.GPUBusy = r.graphics
	}
	if sent, ok := r.sent.Get(); ok {
		if received, ok := r.received.Get(); ok {
			s.PCIeBytesPerSec = profile.Some(sent + received)
		}
	}
	if before != nil && s.PowerWatts.IsZero() {
		s.PowerWatts = meanPower(before, s)
	}
}

// meanPower is the growth of the energy counter over the time between two
// samples; a counter that fell was reset and tells nothing.
func meanPower(before, after *profile.Sample) profile.Opt[float64] {
	a, ok := before.EnergyJoules.Get()
	b, okToo := after.EnergyJoules.Get()
	seconds := after.At.Sub(before.At).Seconds()
	if !ok || !okToo || b < a || seconds <= 0 {
		return profile.Opt[float64]{}
	}
	return profile.Some((b - a) / seconds)
}
