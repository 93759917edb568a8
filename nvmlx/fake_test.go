package nvmlx_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is when every fake begins.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fake is a Source of n devices whose answers are given by functions.
type fake struct {
	n         int
	read      func(id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error)
	processes func(id nvmlx.DeviceID) ([]nvmlx.Process, error)
	mig       func(id nvmlx.DeviceID) (nvmlx.MIGInventory, error)
	events    chan nvmlx.Event
	infoErr   error

	mu     sync.Mutex
	closed int
}

func (f *fake) Info(context.Context) (nvmlx.SystemInfo, error) {
	return nvmlx.SystemInfo{Driver: "580.1", NVML: "13.580.1", CUDA: "13.0"}, f.infoErr
}

func (f *fake) Devices(context.Context) ([]nvmlx.DeviceInfo, error) {
	list := make([]nvmlx.DeviceInfo, f.n)
	for i := range list {
		list[i] = nvmlx.DeviceInfo{
			ID: gpu(i), Index: i, Name: "NVIDIA A100-SXM4-40GB",
			Memory: profile.Some(40 * profile.GiB), MIGEnabled: profile.Some(false),
		}
	}
	return list, nil
}

func (f *fake) Read(_ context.Context, id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
	return f.read(id, what)
}

func (f *fake) Processes(_ context.Context, id nvmlx.DeviceID) ([]nvmlx.Process, error) {
	return f.processes(id)
}

func (f *fake) MIG(_ context.Context, id nvmlx.DeviceID) (nvmlx.MIGInventory, error) {
	return f.mig(id)
}

func (f *fake) Events(context.Context, ...nvmlx.DeviceID) (<-chan nvmlx.Event, error) {
	return f.events, nil
}

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return nil
}

// bare hides the optional abilities of a Source.
type bare struct{ nvmlx.Source }

func gpu(i int) nvmlx.DeviceID { return nvmlx.DeviceID(fmt.Sprintf("GPU-%d", i)) }

// busy is a sample at second s with one counter.
func busy(id nvmlx.DeviceID, s int, share float64) nvmlx.Sample {
	sample := nvmlx.Sample{Device: id}
	sample.At = epoch.Add(time.Duration(s) * time.Second)
	sample.GPUBusy = profile.Some(share)
	return sample
}

// opts lets cmp look into optional values.
var opts = cmp.Options{
	cmp.AllowUnexported(
		profile.Opt[float64]{}, profile.Opt[profile.Bytes]{}, profile.Opt[time.Duration]{},
		profile.Opt[nvmlx.Throttle]{}, profile.Opt[int]{}, profile.Opt[bool]{}, profile.Opt[nvmlx.ComputeMode]{},
	),
}

// handClock is a Clock that moves only when told.
type handClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *handClock) NewWaiter() nvmlx.Waiter { return nil }
