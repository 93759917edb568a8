//go:build linux

package runner

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

func TestEnvironment(t *testing.T) {
	tests := []struct {
		name   string
		env    []string // inherited
		task   Task
		adjust func(*Config)
		want   []string
	}{
		{
			name: "a share of the cores",
			want: []string{"OMP_NUM_THREADS=3", "PYTHONUNBUFFERED=1", "MKL_NUM_THREADS=3", "COLLOC_WORKERS=3", "CUDA_VISIBLE_DEVICES=GPU-fake-0", "COLLOC_TASK=1", "COLLOC_RUN=1", "WANDB_RUN_GROUP="},
		},
		{
			name: "the user decides",
			env:  []string{"OMP_NUM_THREADS=7", "PYTHONUNBUFFERED=", "GOMAXPROCS=6", "A=1", "B=1", "CUDA_VISIBLE_DEVICES=3", "WANDB_RUN_GROUP=mine"},
			task: Task{Env: []string{"MKL_NUM_THREADS=5", "B=2", "CUDA_VISIBLE_DEVICES=4", "B=3"}},
			want: []string{"OMP_NUM_THREADS=7", "PYTHONUNBUFFERED=", "GOMAXPROCS=6", "MKL_NUM_THREADS=5", "NUMEXPR_NUM_THREADS=3", "A=1", "B=3", "CUDA_VISIBLE_DEVICES=GPU-fake-0", "WANDB_RUN_GROUP=mine"},
		},
		{name: "more cores", task: Task{CPUs: 9}, want: []string{"OMP_NUM_THREADS=9", "COLLOC_WORKERS=9"}},
		{
			name: "MPS",
			adjust: func(c *Config) {
				c.Mechanisms = []profile.Mechanism{profile.MPS}
				c.MPSPipeDir = func(id nvmlx.DeviceID) string { return "/run/" + string(id) }
			},
			want: []string{"CUDA_VISIBLE_DEVICES=GPU-fake-0", "CUDA_MPS_PIPE_DIRECTORY=/run/GPU-fake-0", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1024M"},
		},
		{
			name: "MPS where the environment says",
			env:  []string{"CUDA_MPS_PIPE_DIRECTORY=/run/mine"},
			adjust: func(c *Config) {
				c.Mechanisms = []profile.Mechanism{profile.MPS}
			},
			want: []string{"CUDA_MPS_PIPE_DIRECTORY=/run/mine"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := newRig(t, t.TempDir(), gpuFile(2), func(c *Config) {
				c.cores = 12
				c.Env = append([]string{"PATH=" + os.Getenv("PATH")}, test.env...)
				if test.adjust != nil {
					test.adjust(c)
				}
			})
			test.task.Command, test.task.Memory = []string{"env"}, profile.GiB
			g.submit(t, test.task)
			got := strings.Split(output(t, g.finish(t)[0]), "\n")
			for _, want := range test.want {
				name, value, _ := strings.Cut(want, "=")
				n := 0
				for _, line := range got {
					if strings.HasPrefix(line, name+"=") {
						n++
					}
				}
				if value == "" && n == 0 || n == 1 && slices.Contains(got, want) {
					continue
				}
				t.Errorf("%s is not in the environment, or not once:\n%s", want, strings.Join(got, "\n"))
			}
			if slices.Contains(got, "GOMAXPROCS="+"1") {
				t.Error("the task has the supervisor's setting")
			}
		})
	}
}

// TestDoors: owners of tasks pass through to what these write, and see nothing else.
func TestDoors(t *testing.T) {
	for owners, want := range map[bool]fs.FileMode{false: 0o700, true: 0o711} {
		g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) { c.Owners = owners })
		for _, dir := range []string{g.dir, filepath.Join(g.dir, "runs-1")} {
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has mode %v, %v; want %v", dir, info.Mode(), err, want)
			}
		}
	}
}

// TestOwnersOrder: limits of an owner, of which there may be one, are those of the command.
func TestOwnersOrder(t *testing.T) {
	for _, limits := range []map[string]Limit{nil, {"nofile": {Soft: 5, Hard: 7}}, {"nofile": {Soft: 5, Hard: 7}, "core": {Soft: -1, Hard: -1}}} {
		got := order(&Owner{UID: 5, GID: 6, Limits: limits})
		if len(got.Limits) != len(limits) || got.Umask != 0o077 {
			t.Errorf("limits %v are %v, umask %o", limits, got.Limits, got.Umask)
		}
		for name, l := range limits {
			if got.Limits[name] != [2]int64{l.Soft, l.Hard} {
				t.Errorf("limit %s is %v, want %v", name, got.Limits[name], l)
			}
		}
	}
}

// TestUnaskedMPS warns of a daemon that would turn time-slicing into MPS.
func TestUnaskedMPS(t *testing.T) {
	pipe := t.TempDir()
	if err := os.WriteFile(filepath.Join(pipe, "control"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, asked := range []bool{false, true} {
		g := newRig(t, t.TempDir(), gpuFile(2), func(c *Config) {
			c.Env = append(c.Env, "CUDA_MPS_PIPE_DIRECTORY="+pipe)
			if asked {
				c.Mechanisms = []profile.Mechanism{profile.MPS}
			}
		})
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		warnings := 0
		for _, e := range g.events {
			if e.Kind == EventWarning && strings.Contains(e.Text, "an MPS daemon listens in "+pipe) {
				warnings++
			}
		}
		if want := map[bool]int{false: 1}[asked]; warnings != want {
			t.Errorf("asked for MPS: %v: %d warnings, want %d: %v", asked, warnings, want, g.events)
		}
	}
}

// TestSecrets looks for what the runner inherited in everything it writes, and
// at the modes of that.
func TestSecrets(t *testing.T) {
	const secret = "hunter2-of-the-runner"
	dir := t.TempDir()
	var told strings.Builder
	g := newRig(t, dir, gpuFile(1), func(c *Config) {
		c.Env = append(c.Env, "API_KEY="+secret)
		c.OnEvent = func(e Event) { fmt.Fprintf(&told, "%+v\n", e) }
	})
	held := shell(`tr '\0' ' ' </proc/$PPID/cmdline; test "$API_KEY" = ` + "hunter2-of-the-\"runner\"")
	g.submit(t, held, Task{Command: []string{"no-such-program"}}, Task{Command: []string{"pwd"}, Dir: "/no/such"})
	own := shell("true")
	own.Env = []string{"TOKEN=" + secret}
	g.submit(t, own)
	records := g.finish(t)
	if records[0].State != Succeeded {
		t.Errorf("the task has no secret: %s", records[0].Err)
	}
	if strings.Contains(told.String(), secret) || strings.Contains(fmt.Sprint(records), secret) {
		t.Error("the secret is in an event or a record")
	}
	err := filepath.WalkDir(filepath.Join(dir, "state"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		switch {
		case entry.IsDir():
			want = 0o700
		case info.Mode()&fs.ModeSymlink != 0:
			return nil // has no mode and no content but its target
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if strings.Contains(string(text), secret) && entry.Name() != backlog.File { // it keeps Task.Env
				t.Errorf("the secret is in %s", path)
			}
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
