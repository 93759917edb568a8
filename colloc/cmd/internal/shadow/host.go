package shadow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/shadow/journal"
	"example.com/colloc/internal/owner"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Host looks at the GPUs of this machine and the processes that people started there.
type Host struct {
	Source  nvmlx.Source
	Devices []nvmlx.DeviceInfo
	Now     func() time.Time
	// Proc is where the kernel shows processes; empty is /proc.
	Proc string

	since map[string]time.Time // when a process was first seen
}

// Look reads each device and its processes. A GPU that cannot be read is down.
func (h *Host) Look(ctx context.Context) (*journal.Snapshot, error) {
	reader, ok := h.Source.(nvmlx.ProcessReader)
	if !ok {
		return nil, errors.New("the driver does not tell who uses a GPU")
	}
	s := &journal.Snapshot{At: h.Now().UTC()}
	jobs := map[string]*journal.Job{}
	for _, d := range nvmlx.Runnable(h.Devices) {
		g := journal.GPU{ID: string(d.ID), Product: d.Name, Memory: d.Memory.Or(0)}
		if model, ok := d.GPU(); ok {
			g.Product = model.Name
		}
		sample, err := h.Source.Read(ctx, d.ID, nvmlx.FieldGPUBusy|nvmlx.FieldSMActive)
		var list []nvmlx.Process
		if err == nil {
			list, err = reader.Processes(ctx, d.ID)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		g.Down = err != nil
		s.GPUs = append(s.GPUs, g)
		list = slices.DeleteFunc(list, func(p nvmlx.Process) bool { return p.Kind != nvmlx.ComputeProcess || p.PID <= 0 })
		for _, p := range list {
			h.add(jobs, d.ID, p, &sample, len(list) == 1)
		}
	}
	since := make(map[string]time.Time, len(jobs))
	for id, j := range jobs {
		if j.Started = s.At; !h.since[id].IsZero() {
			j.Started = h.since[id]
		}
		j.Submitted, since[id] = j.Started, j.Started
		s.Jobs = append(s.Jobs, *j)
	}
	h.since = since
	slices.SortFunc(s.Jobs, func(a, b journal.Job) int { return strings.Compare(a.ID, b.ID) })
	return s, nil
}

// add counts a process on a device. Of one that is there alone the device's counters are its own.
func (h *Host) add(jobs map[string]*journal.Job, id nvmlx.DeviceID, p nvmlx.Process, device *nvmlx.Sample, alone bool) {
	who := h.identify(p.PID)
	j := jobs[who.id]
	if j == nil {
		j = &journal.Job{ID: who.id, User: who.user, Name: who.name}
		if j.Name == "" {
			j.Name = filepath.Base(p.Name)
		}
		jobs[who.id] = j
	}
	j.GPUs++
	j.On = append(j.On, string(id))
	if used, ok := p.MemUsed.Get(); ok && used >= j.Memory.Or(0) {
		const step = 64 * profile.MiB
		j.Memory = profile.Some((used + step - 1) / step * step)
	}
	busy := p.SMBusy
	if alone {
		for _, x := range []profile.Opt[float64]{device.GPUBusy, device.SMActive} {
			if !x.IsZero() {
				busy = x
			}
		}
	}
	if v, ok := busy.Get(); ok && v >= j.Busy.Or(0) {
		j.Busy = coarse(busy)
	}
}

// identity is who a process is. Its command line stays with it: only the name of the program is kept.
type identity struct{ id, user, name string }

// userOf is the name of the user whose a process is, or the number.
func userOf(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	of, known := owner.Of(info)
	if !known {
		return ""
	}
	uid := strconv.FormatUint(uint64(of), 10)
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}

// identify asks the kernel. A number is given again: the time at which the process started is
// part of its name.
func (h *Host) identify(pid int) identity {
	proc := h.Proc
	if proc == "" {
		proc = "/proc"
	}
	dir := filepath.Join(proc, strconv.Itoa(pid))
	who := identity{id: strconv.Itoa(pid), user: userOf(dir)}
	if stat, err := os.ReadFile(filepath.Join(dir, "stat")); err == nil {
		if end := bytes.LastIndexByte(stat, ')'); end >= 0 {
			if fields := strings.Fields(string(stat[end+1:])); len(fields) > 19 {
				who.id = fmt.Sprintf("%d@%s", pid, fields[19])
			}
		}
	}
	if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil {
		who.name = program(strings.Split(string(line), "\x00"))
	}
	return who
}

// program is the name of a script, or of what runs it.
func program(words []string) string {
	for i, w := range words {
		if i > 0 && (strings.HasSuffix(w, ".py") || strings.HasSuffix(w, ".sh")) {
			return filepath.Base(w)
		}
		if i > 1 && words[i-1] == "-m" {
			return w
		}
	}
	if len(words) == 0 || words[0] == "" {
		return ""
	}
	return filepath.Base(words[0])
}
