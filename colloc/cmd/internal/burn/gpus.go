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

// fakePoint is what a GPU had done until then.
type fakePoint struct {
	at  time.Time
	sum account
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
	if window := now.at.Sub(past.at); window > fakeWindow/20 {
		share := func(now, past time.Duration) profile.Opt[float64] {
			return profile.Some(min(1, max(0, float64(now-past)/float64(window))))
		}
		s.Window = window
		s.GPUBusy, s.SMActive = share(now.sum.Busy, past.sum.Busy), share(now.sum.SM, past.sum.SM)
		s.DRAMActive = share(now.sum.DRAM, past.sum.DRAM)
		s.MemBusy = s.DRAMActive
	}
	s.Keep(what)
	return s, nil
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
	now.at = time.Now()
	for pid, a := range readAccounts(f.dir, string(id)) {
		if alive(pid) {
			now.sum.add(a)
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
