package burn

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// GPUs adds to fake GPUs, which have memory, how busy they are: what the
// burners wrote into their accounts.
type GPUs struct {
	*fakegpu.Source
	dir string

	mu      sync.Mutex
	history map[nvmlx.DeviceID]*fakeHistory
}

// fakeHistory is what one GPU did.
type fakeHistory struct {
	gone   account // of processes that ended
	points []fakePoint
}

// fakePoint is what a GPU had done until then, in all and for processes that live.
type fakePoint struct {
	at  time.Time
	sum account
	of  map[int]account
}

// share is the part of the time since an earlier point that something took which had taken as much then and now.
func (p *fakePoint) share(past *fakePoint, then, now time.Duration) profile.Opt[float64] {
	window := p.at.Sub(past.at)
	if window <= fakeWindow/20 {
		return profile.Opt[float64]{}
	}
	return profile.Some(min(1, max(0, float64(now-then)/float64(window))))
}

// fakeWindow is how long the averages cover, as those of nvidia-smi do.
const fakeWindow = time.Second

// OpenGPUs reads a description of GPUs; see package fakegpu. What their users
// use is kept in dir, so that they can go on while a sweep is interrupted.
func OpenGPUs(file, dir string) (*GPUs, error) {
	dir, err := filepath.Abs(dir) // burners run in folders of their own
	if err != nil {
		return nil, err
	}
	compute := filepath.Join(dir, "compute")
	if err := os.MkdirAll(compute, 0o700); err != nil {
		return nil, err
	}
	source, err := fakegpu.Open(file, filepath.Join(dir, "memory"))
	if err != nil {
		return nil, err
	}
	return &GPUs{Source: source, dir: compute, history: make(map[nvmlx.DeviceID]*fakeHistory)}, nil
}

// Env returns what lets burners find the GPUs.
func (f *GPUs) Env() []string { return append(f.Source.Env(), fakeDirEnv+"="+f.dir) }

// Share lets processes of all users use the GPUs.
func (f *GPUs) Share() error {
	const pass = 0o711
	return errors.Join(os.Chmod(filepath.Dir(f.dir), pass), os.Chmod(f.dir, sharedMode), f.Source.Share())
}

// Read implements nvmlx.Source.
func (f *GPUs) Read(ctx context.Context, id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
	s, err := f.Source.Read(ctx, id, what)
	if err != nil {
		return s, err
	}
	now, past := f.look(id)
	s.At, s.Missing = now.at, nvmlx.Missing{}
	s.Window = now.at.Sub(past.at)
	s.GPUBusy, s.SMActive = now.share(&past, past.sum.Busy, now.sum.Busy), now.share(&past, past.sum.SM, now.sum.SM)
	s.DRAMActive = now.share(&past, past.sum.DRAM, now.sum.DRAM)
	s.MemBusy = s.DRAMActive
	s.Keep(what)
	return s, nil
}

// Processes implements nvmlx.ProcessReader: as drivers of data-centre GPUs do, it tells of each process how busy it keeps the GPU.
func (f *GPUs) Processes(ctx context.Context, id nvmlx.DeviceID) ([]nvmlx.Process, error) {
	all, err := f.Source.Processes(ctx, id)
	now, past := f.look(id)
	for i := range all {
		if a, ok := now.of[all[i].PID]; ok {
			all[i].SMBusy = now.share(&past, past.of[all[i].PID].Busy, a.Busy)
		}
	}
	return all, err
}

// look adds up what one GPU did until now and until fakeWindow ago.
func (f *GPUs) look(id nvmlx.DeviceID) (now, past fakePoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.history[id]
	if h == nil {
		h = &fakeHistory{}
		f.history[id] = h
	}
	now.at, now.of = time.Now(), make(map[int]account)
	for pid, a := range readAccounts(f.dir, string(id)) {
		if alive(pid) {
			now.sum.add(a)
			now.of[pid] = a
			continue
		}
		h.gone.add(a)
		_ = os.Remove(filepath.Join(f.dir, string(id)+"."+strconv.Itoa(pid))) // the number may come again
	}
	now.sum.add(h.gone)
	h.points = append(h.points, now)
	for len(h.points) > 2 && now.at.Sub(h.points[1].at) >= fakeWindow {
		h.points = h.points[1:]
	}
	return now, h.points[0]
}
