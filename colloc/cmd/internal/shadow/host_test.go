package shadow

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"example.com/colloc/colloc/shadow/journal"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// cards are GPUs that say what a test wants.
type cards struct {
	busy  map[nvmlx.DeviceID]float64
	users map[nvmlx.DeviceID][]nvmlx.Process
	lost  nvmlx.DeviceID
}

func (c *cards) Info(context.Context) (nvmlx.SystemInfo, error) { return nvmlx.SystemInfo{}, nil }

func (c *cards) Devices(context.Context) ([]nvmlx.DeviceInfo, error) {
	return []nvmlx.DeviceInfo{{ID: "a", Name: "NVIDIA A100-SXM4-40GB"}, {ID: "b", Name: "Abacus", Memory: profile.Some(profile.GiB)}}, nil
}

func (c *cards) Read(_ context.Context, id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) {
	if id == c.lost {
		return nvmlx.Sample{}, nvmlx.ErrDeviceLost
	}
	return nvmlx.Sample{Sample: profile.Sample{GPUBusy: profile.Some(c.busy[id])}}, nil
}

func (c *cards) Processes(_ context.Context, id nvmlx.DeviceID) ([]nvmlx.Process, error) {
	return c.users[id], nil
}

func (c *cards) Close() error { return nil }

// blind has no processes.
type blind struct{ nvmlx.Source }

func TestHost(t *testing.T) {
	proc := t.TempDir()
	process := func(pid, stat, cmdline string) {
		t.Helper()
		dir := filepath.Join(proc, pid)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600), os.WriteFile(filepath.Join(dir, "cmdline"), []byte(cmdline), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	stat := "7 (a ) b) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 1 1"
	process("7", stat, "/usr/bin/python3\x00-u\x00/home/ann/train.py\x00--key\x00secret\x00")
	c := &cards{
		busy: map[nvmlx.DeviceID]float64{"a": 0.404, "b": 0.9},
		users: map[nvmlx.DeviceID][]nvmlx.Process{
			"a": {{PID: 7, MemUsed: profile.Some(profile.GiB)}},
			"b": {{PID: 7, MemUsed: profile.Some(2*profile.GiB - 5), SMBusy: profile.Some(0.3)}, {PID: 8, Name: "/opt/x", MemUsed: profile.Some(profile.MiB)}},
		},
	}
	devices, err := c.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	h := &Host{Source: c, Devices: devices, Now: func() time.Time { return now }, Proc: proc}
	first, err := h.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	me := userOf(proc)
	want := []journal.Job{
		{ID: "7@4711", User: me, Name: "train.py", Submitted: now, Started: now, GPUs: 2, On: []string{"a", "b"}, Busy: profile.Some(0.4), Memory: profile.Some(2 * profile.GiB)},
		{ID: "8", Name: "x", Submitted: now, Started: now, GPUs: 1, On: []string{"b"}, Memory: profile.Some(64 * profile.MiB)},
	}
	if !reflect.DeepEqual(first.Jobs, want) || me == "" {
		t.Errorf("jobs %+v\nwant %+v", first.Jobs, want)
	}
	if want := []journal.GPU{{ID: "a", Product: "A100-40GB"}, {ID: "b", Product: "Abacus", Memory: profile.GiB}}; !reflect.DeepEqual(first.GPUs, want) {
		t.Errorf("GPUs %+v, want %+v", first.GPUs, want)
	}
	process("7", "7 (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9999 1 1", "bash\x00") // the number is given again
	now, c.lost = now.Add(time.Minute), "a"
	second, err := h.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !second.GPUs[0].Down || len(second.Jobs) != 2 || second.Jobs[0].ID != "7@9999" || !second.Jobs[0].Started.Equal(now) || second.Jobs[1].Started.Equal(now) {
		t.Errorf("later %+v", second)
	}
	if _, err := (&Host{Source: blind{c}, Now: h.Now}).Look(t.Context()); err == nil {
		t.Error("a driver that tells no processes")
	}
}

func TestProgram(t *testing.T) {
	for want, words := range map[string][]string{
		"train.py": {"python", "-u", "src/train.py", "x"}, "torch.distributed.run": {"python3", "-m", "torch.distributed.run"},
		"main": {"./bin/main", "--pass", "word"}, "": {""},
	} {
		if got := program(words); got != want {
			t.Errorf("%q is %q, want %q", words, got, want)
		}
	}
}
