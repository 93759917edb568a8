package tracefile

import "example.com/colloc/profile"

// quantity is what a column or metric measures, in the unit of profile.Sample.
type quantity uint8

const (
	ignored quantity = iota
	gpuBusy
	graphicsActive // stands in for gpuBusy where that is missing
	memBusy
	smActive
	smOccupancy
	tensorActive
	dramActive
	fp32Active
	memUsed
	power
	energy
	smClock
	temperature
	pcieSent
	pcieReceived
	pcieBoth
)

// measure is a quantity in a unit of the log.
type measure struct {
	quantity quantity
	unit     unit
}

// unit is a unit that logs use.
type unit uint8

const (
	one unit = iota
	percent
	milli
	micro
	mega
	kibi
	mebi
	gibi
)

// of converts a number of units to ours. Where the result is not exact it is
// the nearest, so that 95 % is 0.95.
func (u unit) of(v float64) float64 {
	switch u {
	case percent:
		return v / 100
	case milli:
		return v / 1000
	case micro:
		return v / 1e6
	case mega:
		return v * 1e6
	case kibi:
		return v * (1 << 10)
	case mebi:
		return v * (1 << 20)
	case gibi:
		return v * (1 << 30)
	default:
		return v
	}
}

// row is a sample in the making.
type row struct {
	profile.Sample
	graphics profile.Opt[float64]
	sent     profile.Opt[float64]
	received profile.Opt[float64]
}

// put stores a value in the log's unit; false is a value that cannot be. A
// ratio that rounding in the tool took above 1, by at most 5 %, is 1.
func (r *row) put(m measure, v float64) bool {
	v = m.unit.of(v)
	if m.quantity >= gpuBusy && m.quantity <= fp32Active && v > 1 && v <= 1.05 {
		v = 1
	}
	if v < 0 && m.quantity != temperature || m.quantity >= gpuBusy && m.quantity <= fp32Active && v > 1 {
		return false
	}
	x := profile.Some(v)
	switch m.quantity {
	case gpuBusy:
		r.GPUBusy = x
	case graphicsActive:
		r.graphics = x
	case memBusy:
		r.MemBusy = x
	case smActive:
		r.SMActive = x
	case smOccupancy:
		r.SMOccupancy = x
	case tensorActive:
		r.TensorActive = x
	case dramActive:
		r.DRAMActive = x
	case fp32Active:
		r.FP32Active = x
	case memUsed:
		if v > 1<<50 {
			return false
		}
		r.MemUsed = profile.Some(profile.Bytes(v))
	case power:
		r.PowerWatts = x
	case energy:
		r.EnergyJoules = x
	case smClock:
		r.SMClockMHz = x
	case temperature:
		r.TempCelsius = x
	case pcieSent:
		r.sent = x
	case pcieReceived:
		r.received = x
	case pcieBoth:
		r.PCIeBytesPerSec = x
	case ignored:
	}
	return true
}

// finish makes the row a whole sample; before is the sample before it of the
// same source.
func (r *row) finish(mig bool, before *profile.Sample) {
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
