package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"time"

	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// idleMemory is what the driver itself may hold of a GPU that nobody uses.
const idleMemory = 700 * profile.MiB

// tenants are the processes on a GPU, divided between the task and others.
type tenants struct {
	source nvmlx.Source
	gpu    nvmlx.DeviceID
	root   int           // the task's first process; 0 as long as there is none
	before map[int]bool  // processes that were there before
	idle   profile.Bytes // memory in use then

	cpu  map[int]time.Duration // of the task's processes, ended ones included
	seen time.Time             // of the last look
	sum  time.Duration         // CPU time then
}

// look is what one look found.
type look struct {
	others []string // who else is there
	mine   bool     // the task is there
	memory profile.Opt[profile.Bytes]
	cpu    profile.Opt[float64] // share of all CPUs since the last look
}

// processes lists the processes on the GPU; nil if the driver does not tell.
func (t *tenants) processes(ctx context.Context) []nvmlx.Process {
	reader, ok := t.source.(nvmlx.ProcessReader)
	if !ok {
		return nil
	}
	list, _ := reader.Processes(ctx, t.gpu) // then memory in use has to tell
	return list
}

// begin looks before the task is there, and says who is.
func (t *tenants) begin(ctx context.Context) []string {
	t.before, t.cpu = make(map[int]bool), make(map[int]time.Duration)
	var members map[int]time.Duration
	if t.root > 0 {
		members = family(t.root)
	}
	var others []string
	for _, p := range t.processes(ctx) {
		pid := p.InnerPID.Or(p.PID)
		if _, mine := members[pid]; !mine {
			t.before[pid] = true
			others = append(others, describe(&p))
		}
	}
	sample, err := t.source.Read(ctx, t.gpu, nvmlx.FieldMemUsed)
	if used, ok := sample.MemUsed.Get(); err == nil && ok && t.root == 0 {
		t.idle = used
		if len(others) == 0 && used > idleMemory {
			others = append(others, fmt.Sprintf("something that holds %v", used))
		}
	}
	return others
}

func describe(p *nvmlx.Process) string {
	text := strings.TrimSpace(fmt.Sprintf("process %d %s", p.PID, p.Name))
	if p.PID == 0 {
		text = "the program " + p.Name
	}
	if used, ok := p.MemUsed.Get(); ok {
		text += fmt.Sprintf(" (%v)", used)
	}
	return text
}

// look takes stock. A process that cannot be seen from here, as from within a
// container, and that was not there before counts as the task's.
func (t *tenants) look(ctx context.Context, now time.Time, used profile.Opt[profile.Bytes]) look {
	list := t.processes(ctx)
	members := family(t.root) // after the list: who is in it was started before
	var l look
	var memory profile.Bytes
	told := false
	for _, p := range list {
		pid := p.InnerPID.Or(p.PID)
		_, mine := members[pid]
		if !mine && (t.before[pid] || pid == 0 || lives(pid)) {
			l.others = append(l.others, describe(&p))
			continue
		}
		l.mine = true
		if m, ok := p.MemUsed.Get(); ok {
			memory, told = memory+m, true
		}
	}
	switch all, ok := used.Get(); {
	case told:
		l.memory = profile.Some(memory)
	case ok && len(l.others) == 0 && all > t.idle && (l.mine || len(list) == 0):
		l.memory = profile.Some(all - t.idle)
	}
	maps.Copy(t.cpu, members)
	var sum time.Duration
	for _, cpu := range t.cpu {
		sum += cpu
	}
	if took := now.Sub(t.seen); !t.seen.IsZero() && took > 0 && runtime.GOOS == "linux" {
		l.cpu = profile.Some(min(1, max(0, (sum-t.sum).Seconds()/took.Seconds()/float64(runtime.NumCPU()))))
	}
	t.seen, t.sum = now, sum
	return l
}

// choose finds the GPU to watch on: the one that is named, that of the process, or
// the first that nobody uses. Others are who is there.
func (o *options) choose(ctx context.Context, h *gpus.Host) (_ *tenants, others []string, err error) {
	allowed, err := h.Choose("-gpu", o.gpuNames())
	if err != nil {
		return nil, nil, err
	}
	var busy []string
	for _, d := range h.Use(allowed) {
		t := &tenants{source: h.Source, gpu: d.ID, root: o.pid}
		others := t.begin(ctx)
		switch {
		case o.pid != 0 && !t.holds(ctx) && o.gpu == "":
			continue
		case len(others) == 0 || o.shared:
			return t, others, nil
		}
		busy = append(busy, fmt.Sprintf("%s is used by %s", d.ID, strings.Join(others, ", ")))
	}
	if o.pid != 0 && len(busy) == 0 {
		return nil, nil, fmt.Errorf("process %d and what it started use no GPU that can be seen: name it with -gpu, if it is about to", o.pid)
	}
	if len(busy) == 0 {
		return nil, nil, errors.New("no GPU that programs run on")
	}
	return nil, nil, fmt.Errorf("no GPU is alone, and what is seen beside others says nothing of the task: %s; wait, or -shared measures all the same", strings.Join(busy, "; "))
}

// holds reports whether the task is on the GPU.
func (t *tenants) holds(ctx context.Context) bool {
	members := family(t.root)
	for _, p := range t.processes(ctx) {
		if _, ok := members[p.InnerPID.Or(p.PID)]; ok {
			return true
		}
	}
	return false
}
