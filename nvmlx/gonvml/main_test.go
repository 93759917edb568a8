//go:build linux && cgo

package gonvml_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/gonvml"
)

// NVML's symbols exist once in a process, and a mistake with them kills it. So
// every test runs a scenario in a process of its own: the test binary again,
// with the scenario's name in the environment.
const (
	scenarioEnv = "GONVML_SCENARIO"
	libraryEnv  = "GONVML_LIBRARY"
)

func TestMain(m *testing.M) {
	name := os.Getenv(scenarioEnv)
	if name == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := play(name); err != nil {
		fmt.Println("error:", err)
		for _, sentinel := range []error{
			nvmlx.ErrNoDriver, nvmlx.ErrDriverMismatch, nvmlx.ErrUnavailable, nvmlx.ErrPermission,
			nvmlx.ErrDeviceLost, nvmlx.ErrNotSupported, nvmlx.ErrNoDevice, nvmlx.ErrTransient,
		} {
			if errors.Is(err, sentinel) {
				fmt.Println("is:", sentinel)
			}
		}
	}
}

// run plays a scenario with a fake library in a process of its own and returns
// what it printed. The process must end in good order.
func run(t *testing.T, library, scenario string, env ...string) string {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), append(env, scenarioEnv+"="+scenario, libraryEnv+"="+library, "GORACE=atexit_sleep_ms=0")...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the process died (exit status 127 is a missing symbol): %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// build compiles the fake driver library, with a -D flag or none.
func build(tb testing.TB, flags ...string) string {
	tb.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		tb.Skip("no gcc: the fake libnvidia-ml.so.1 cannot be built; apt-get install gcc libc6-dev")
	}
	library := filepath.Join(tb.TempDir(), "libnvidia-ml.so.1")
	args := append([]string{"-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-o", library, "testdata/fakenvml.c"}, flags...)
	if out, err := exec.CommandContext(tb.Context(), gcc, args...).CombinedOutput(); err != nil {
		tb.Fatalf("gcc: %v\n%s", err, out)
	}
	return library
}

// clock stands still unless told otherwise.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (*clock) NewWaiter() nvmlx.Waiter { return nil }

// whole is a Source with all that this package promises.
type whole interface {
	nvmlx.Source
	nvmlx.ProcessReader
	nvmlx.MIGReader
	nvmlx.EventReader
}

// play runs one scenario and prints what it sees.
func play(name string) (err error) {
	ctx := context.Background()
	hand := &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	options := &gonvml.Options{Library: os.Getenv(libraryEnv), Clock: hand}
	opened, err := gonvml.Open(options)
	if err != nil {
		return err
	}
	src, ok := opened.(whole)
	if !ok {
		return errors.New("the source lacks an ability")
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	show := func(v any, err error) {
		if err != nil {
			fmt.Println("error:", err)
			return
		}
		text, err := json.Marshal(v)
		fmt.Println(strings.TrimSpace(string(text) + " " + errText(err)))
	}
	switch name {
	case "inventory":
		show(src.Info(ctx))
		devices, err := src.Devices(ctx)
		if err != nil {
			return err
		}
		for _, d := range devices {
			show(d, nil)
		}
	case "read":
		devices, err := src.Devices(ctx)
		if err != nil {
			return err
		}
		for _, d := range devices {
			show(src.Read(ctx, d.ID, nvmlx.FieldsBasic))
		}
	case "lost":
		for range 4 {
			for _, id := range []nvmlx.DeviceID{"GPU-0", "GPU-1"} {
				s, err := src.Read(ctx, id, nvmlx.FieldGPUBusy)
				fmt.Println(id, s.GPUBusy, err)
			}
		}
		devices, err := src.Devices(ctx)
		fmt.Println(len(devices), "devices left", err)
	case "processes":
		for _, id := range []nvmlx.DeviceID{"GPU-0", "GPU-1"} {
			show(src.Processes(ctx, id))
		}
	case "processes twice":
		show(src.Processes(ctx, "GPU-1"))
		show(src.Processes(ctx, "GPU-1"))
	case "count processes":
		list, err := src.Processes(ctx, "GPU-1")
		fmt.Println(len(list), err)
	case "mig":
		show(src.MIG(ctx, "GPU-0"))
		show(src.MIG(ctx, "GPU-1"))
		show(src.MIG(ctx, "MIG-0-0"))
		show(src.Processes(ctx, "MIG-0-1"))
	case "gpm":
		ids := []nvmlx.DeviceID{"GPU-0", "GPU-1"}
		if os.Getenv("FAKE_MIG") != "" {
			ids = append(ids, "MIG-0-0")
		}
		for _, pause := range []time.Duration{0, 99 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond} {
			hand.advance(pause)
			for _, id := range ids {
				show(src.Read(ctx, id, nvmlx.FieldsGPM))
			}
		}
	case "events":
		return events(src)
	case "concurrent":
		return concurrent(src, options)
	case "reopen":
		return reopen(src, options)
	default:
		return fmt.Errorf("no scenario %q", name)
	}
	return nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// events prints the events there are, three times: until the driver gives up or
// ctx ends, until Close, and after it.
func events(src whole) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := src.Events(ctx, "GPU-7")
	fmt.Println(err)
	if _, err := src.Events(ctx, "MIG-0-0"); err != nil {
		fmt.Println(err)
	}
	for _, ids := range [][]nvmlx.DeviceID{nil, {"GPU-1"}} {
		channel, err := src.Events(ctx, ids...)
		if err != nil {
			return err
		}
		for range 2 {
			e := <-channel
			fmt.Println(e.Device, e.Kind, e.XID, e.At.Format(time.RFC3339))
		}
		if ids == nil {
			if os.Getenv("FAKE_EVENTS") == "" {
				cancel()
			}
			_, open := <-channel
			fmt.Println("open:", open)
			ctx, cancel = context.WithCancel(context.Background())
			defer cancel()
			continue
		}
		fmt.Println("close:", src.Close())
		_, open := <-channel
		fmt.Println("open:", open)
	}
	_, err = src.Events(ctx)
	fmt.Println(err)
	return nil
}

// concurrent reads, lists, opens and closes at once; the race detector watches.
func concurrent(src whole, options *gonvml.Options) error {
	ctx := context.Background()
	var group sync.WaitGroup
	errs := make(chan error, 1000)
	for range 4 {
		group.Go(func() {
			for range 20 {
				_, err1 := src.Read(ctx, "GPU-0", nvmlx.FieldsAll)
				_, err2 := src.Devices(ctx)
				_, err3 := src.Processes(ctx, "GPU-1")
				_, err4 := src.MIG(ctx, "GPU-0")
				errs <- errors.Join(err1, err2, err3, err4)
			}
		})
		group.Go(func() {
			for range 10 {
				other, err := gonvml.Open(options)
				if err == nil {
					var read sync.WaitGroup
					read.Go(func() { // before, during or after Close: never a crash
						if _, err := other.Read(ctx, "GPU-1", nvmlx.FieldsAll); err != nil && !errors.Is(err, nvmlx.ErrUnavailable) {
							errs <- err
						}
					})
					err = other.Close()
					read.Wait()
				}
				errs <- err
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// reopen closes the library and comes back.
func reopen(src whole, options *gonvml.Options) error {
	ctx := context.Background()
	fmt.Println("close:", src.Close(), src.Close())
	_, err := src.Read(ctx, "GPU-0", nvmlx.FieldsAll)
	fmt.Println("read:", err)
	_, err = src.Devices(ctx)
	fmt.Println("devices:", err)
	for _, clock := range []nvmlx.Clock{options.Clock, nil} {
		again, err := gonvml.Open(&gonvml.Options{Library: options.Library, Clock: clock})
		if err != nil {
			return err
		}
		s, err := again.Read(ctx, "GPU-0", nvmlx.FieldsAll)
		fmt.Println("again:", s.GPUBusy, err)
		_, err = again.Read(ctx, "GPU-7", nvmlx.FieldsAll)
		fmt.Println("stranger:", err, errors.Is(err, nvmlx.ErrNoDevice))
		if err := again.Close(); err != nil {
			return err
		}
	}
	_, err = gonvml.Open(&gonvml.Options{Library: "/another/libnvidia-ml.so.1"})
	fmt.Println("another:", errors.Is(err, nvmlx.ErrUnavailable))
	return nil
}
