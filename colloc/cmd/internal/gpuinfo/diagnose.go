package gpuinfo

import (
	"fmt"
	"strings"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// mean is the mean of what was there.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(x profile.Opt[float64]) {
	if v, ok := x.Get(); ok {
		m.sum += v
		m.n++
	}
}

func (m *mean) get() profile.Opt[float64] {
	if m.n == 0 {
		return profile.Opt[float64]{}
	}
	return profile.Some(m.sum / float64(m.n))
}

// means is what a device did while the program ran.
type means struct {
	sm, busy, dram, cpu mean
	hot, capped         mean // share of time that heat, or power, held the clocks back
	peak                profile.Bytes
}

func (m *means) add(s *nvmlx.Sample) {
	m.sm.add(s.SMActive)
	m.busy.add(s.GPUBusy)
	m.dram.add(s.DRAMActive)
	m.cpu.add(s.CPUBusy)
	m.peak = max(m.peak, s.MemUsed.Or(0))
	if t, ok := s.Throttle.Get(); ok {
		m.hot.add(share(t & (nvmlx.ThrottleThermal | nvmlx.ThrottleHWThermal)))
		m.capped.add(share(t & (nvmlx.ThrottlePowerCap | nvmlx.ThrottlePowerBrake)))
	}
}

func share(t nvmlx.Throttle) profile.Opt[float64] {
	if t != 0 {
		return profile.Some(1.0)
	}
	return profile.Some(0.0)
}

// diagnosis is what to tell the owner of a GPU.
type diagnosis struct {
	GPU  string `json:"gpu"`
	ID   string `json:"id"`
	Text string `json:"text"`
	// More is how many further tasks like the present ones fit.
	More int `json:"more"`
}

// Thresholds of the diagnosis: rules of thumb, not measurements.
const (
	idle     = 0.02 // below, nothing runs
	half     = 0.50 // SM activity below which something else holds the task back
	full     = 0.85 // CPU, SM or DRAM above which it is the bound
	headroom = 0.10 // of memory, left free
	mostSet  = 4    // tasks on one GPU: beyond, measured gains vanish
)

// diagnose puts the counters into words.
func diagnose(d device, m *means) diagnosis {
	out := diagnosis{GPU: label(d.DeviceInfo), ID: string(d.ID)}
	total := d.Memory.Or(0)
	var used profile.Opt[float64]
	if total > 0 && m.peak > 0 {
		used = profile.Some(float64(m.peak) / float64(total))
	}
	active, name := m.sm.get(), "SM"
	if active.IsZero() {
		active, name = m.busy.get(), "busy"
	}
	cpu := m.cpu.get()
	facts := []string{}
	for _, f := range []struct {
		name  string
		value profile.Opt[float64]
		after string
	}{{"memory", used, " used"}, {name, active, ""}, {"CPU", cpu, ""}} {
		if !f.value.IsZero() {
			facts = append(facts, f.name+" "+percent(f.value)+f.after)
		}
	}
	a, known := active.Get()
	if !known {
		out.Text = strings.Join(append(facts, "activity is not known"), ", ") + ": nothing can be said"
		return out
	}
	tasks := max(1, len(d.Processes))
	if a >= idle {
		out.More = more(used.Or(0), a, tasks)
	}
	out.Text = strings.Join(facts, ", ") + ": " + bound(a, m) + "; " + fit(out.More, a)
	return out
}

// bound names what holds the GPU back.
func bound(active float64, m *means) string {
	switch cpu, dram := m.cpu.get().Or(0), m.dram.get().Or(0); {
	case active < idle:
		return "idle"
	case m.hot.get().Or(0) > half:
		return "too hot, its clocks are held back"
	case active < half && cpu >= full:
		return "starved by the input pipeline"
	case active < half:
		return "waits for something else than the CPU: small kernels, storage or network"
	case dram >= full:
		return "bound by memory bandwidth"
	case active >= full && m.capped.get().Or(0) > half:
		return "fully used, at its power limit"
	case active >= full:
		return "fully used"
	default:
		return "partly used"
	}
}

// more is how many tasks like the present ones fit beside them: in memory with
// headroom, in activity, and in a set of a sensible size.
func more(used, active float64, tasks int) int {
	n := mostSet - tasks
	each := float64(tasks)
	if used > 0 {
		n = min(n, int((1-headroom-used)/(used/each)))
	}
	return max(0, min(n, int((1-active)/(active/each))))
}

func fit(more int, active float64) string {
	switch {
	case active < idle:
		return "free for other tasks"
	case more == 0:
		return "no further such task fits"
	case more == 1:
		return "1 more such task fits"
	default:
		return fmt.Sprintf("%d more such tasks fit", more)
	}
}
