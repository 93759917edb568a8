package fakegpu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, text string) (*Source, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "gpus.json")
	write(t, file, text)
	s, err := Open(file, filepath.Join(t.TempDir(), "uses"))
	if err != nil {
		t.Fatal(err)
	}
	return s, file
}

func TestDevices(t *testing.T) {
	s, _ := open(t, "\ufeff"+`{"gpus": [{"name": "NVIDIA A100-SXM4-40GB"}, {"name": "RTX 3090", "memory": "8GiB", "id": "b"}]}`)
	got, err := s.Devices(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	a100, _ := profile.LookupGPU("A100-40GB")
	want := []nvmlx.DeviceInfo{
		{ID: "GPU-fake-0", Name: "NVIDIA A100-SXM4-40GB", Memory: profile.Some(a100.Memory)},
		{ID: "b", Index: 1, Name: "RTX 3090", Memory: profile.Some(8 * profile.GiB)},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b nvmlx.DeviceInfo) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func TestFaults(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", " ", "line 1: the file is empty"},
		{"below", "{\n\"gpus\": [\n{\"name\": 5}]}", "line 3: "},
		{"no memory", `{"gpus": [{"name": "A100", "memory": "0"}]}`, "gpus[0].memory: 0 B, want more than 0"},
		{"cut", "{\n", "the file ends in the middle"},
		{"list", `[]`, "this is of kind array"},
		{"number", `{"gpus": [{"name": 5}]}`, "name is of kind number"},
		{"more", `{"gpus": []} x`, "more text after it"},
		{"unknown field", `{"gpu": []}`, `unknown field "gpu"`},
		{"unknown product", `{"gpus": [{"name": "Voodoo 2"}]}`, `gpus[0].name: no GPU is called "Voodoo 2"`},
		{"memory", `{"gpus": [{"name": "A100", "memory": "lots"}]}`, "gpus[0].memory: "},
		{"negative", `{"gpus": [{"name": "A100", "foreign": "-1GiB"}]}`, "gpus[0].foreign: "},
		{"twice", `{"gpus": [{"name": "A100", "id": "a"}, {"name": "A100", "id": "a"}]}`, `gpus[1].id: "a" is used twice`},
		{"folder", `{"gpus": [{"name": "A100", "id": "../a"}]}`, "cannot be the name of a folder"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "gpus.json")
			write(t, file, test.text)
			_, err := Open(file, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("error is %v, want one with %q that names the file", err, test.want)
			}
		})
	}
}

// TestMissing opens a file that is not there, which stays so, and loses one for a
// moment, as when it is replaced.
func TestMissing(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.json")
	if _, err := Open(none, t.TempDir()); err == nil || errors.Is(err, nvmlx.ErrTransient) || !strings.Contains(err.Error(), none) {
		t.Errorf("error is %v, want one that stays and names the file", err)
	}
	s, file := open(t, `{"gpus": [{"name": "A100"}]}`)
	if err := os.Truncate(file, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Devices(t.Context()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("of a TiB: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Devices(t.Context()); !errors.Is(err, nvmlx.ErrTransient) {
		t.Errorf("error is %v, want ErrTransient", err)
	}
}

func TestAllocate(t *testing.T) {
	s, file := open(t, `{"gpus": [{"name": "A100", "memory": "10GiB", "foreign": "2GiB", "id": "a"}]}`)
	for _, v := range append(s.Env(), envVisible+"=a") {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	used := func() profile.Bytes {
		t.Helper()
		sample, err := s.Read(context.Background(), "a", nvmlx.FieldMemUsed|nvmlx.FieldPower)
		if err != nil {
			t.Fatal(err)
		}
		return sample.MemUsed.Or(-1)
	}
	free, err := Allocate(5 * profile.GiB)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Read(t.Context(), "a", nvmlx.FieldMemUsed|nvmlx.FieldPower)
	if err != nil || !errors.Is(other.Missing.Why(nvmlx.FieldPower), nvmlx.ErrNotSupported) {
		t.Errorf("power is %+v, %v; want ErrNotSupported", other, err)
	}
	if got, want := used(), 7*profile.GiB; got != want {
		t.Errorf("%v in use, want %v", got, want)
	}
	if _, err := Allocate(4 * profile.GiB); !errors.Is(err, ErrOutOfMemory) || !strings.Contains(err.Error(), "tried to allocate 4 GiB, 3 GiB of ") {
		t.Errorf("error is %v, want ErrOutOfMemory, and how much is left", err)
	}
	rest, err := Allocate(3 * profile.GiB)
	if err != nil {
		t.Errorf("all that is left: %v", err)
	} else if err := rest(); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(s.uses, "a", "0.1"), "1073741824\n") // a process that died
	if got, want := used(), 7*profile.GiB; got != want {
		t.Errorf("%v in use after another process died, want %v", got, want)
	}
	processes, err := s.Processes(context.Background(), "a")
	want := []nvmlx.Process{
		{Name: "foreign", MemUsed: profile.Some(2 * profile.GiB)},
		{PID: os.Getpid(), MemUsed: profile.Some(5 * profile.GiB)},
	}
	if diff := cmp.Diff(want, processes, cmp.Comparer(func(a, b nvmlx.Process) bool { return a == b })); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if err := free(); err != nil {
		t.Fatal(err)
	}
	if got, want := used(), 2*profile.GiB; got != want {
		t.Errorf("%v in use after all was given back, want %v", got, want)
	}
	write(t, filepath.Join(s.uses, "a", "999999.1"), "1073741824\n") // a process that died
	if got, want := used(), 2*profile.GiB; got != want {
		t.Errorf("%v in use after a process died, want %v", got, want)
	}
	write(t, file, `{"gpus": [{"name": "A100", "id": "a", "lost": true}]}`)
	if _, err := s.Read(context.Background(), "a", nvmlx.FieldMemUsed); !errors.Is(err, nvmlx.ErrDeviceLost) {
		t.Errorf("error is %v, want ErrDeviceLost", err)
	}
	if _, err := s.Read(context.Background(), "c", nvmlx.FieldMemUsed); !errors.Is(err, nvmlx.ErrNoDevice) {
		t.Errorf("error is %v, want ErrNoDevice", err)
	}
}

// A process with several GPUs has the memory on each, or on none.
func TestAllocateEach(t *testing.T) {
	s, _ := open(t, `{"gpus": [{"name": "A100", "memory": "10GiB", "id": "a"}, {"name": "A100", "memory": "8GiB", "id": "b"}]}`)
	for _, v := range append(s.Env(), envVisible+"=a,b") {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	used := func(want profile.Bytes) {
		t.Helper()
		for _, id := range []nvmlx.DeviceID{"a", "b"} {
			if sample, err := s.Read(t.Context(), id, nvmlx.FieldMemUsed); err != nil || sample.MemUsed.Or(-1) != want {
				t.Errorf("%v in use on %s, %v; want %v", sample.MemUsed, id, err, want)
			}
		}
	}
	if _, err := Allocate(9 * profile.GiB); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("error is %v, want ErrOutOfMemory", err)
	}
	used(0)
	free, err := Allocate(5 * profile.GiB)
	if err != nil {
		t.Fatal(err)
	}
	used(5 * profile.GiB)
	if err := free(); err != nil {
		t.Fatal(err)
	}
	used(0)
}

func TestAllocateOutside(t *testing.T) {
	s, _ := open(t, `{"gpus": [{"name": "A100", "id": "a", "foreign": "0"}]}`)
	env := map[string]string{envVisible: "a"}
	for _, v := range s.Env() {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	for missing := range env {
		for name, value := range env {
			t.Setenv(name, value)
		}
		t.Setenv(missing, "")
		if _, err := Allocate(1); err == nil || errors.Is(err, ErrOutOfMemory) || !strings.Contains(err.Error(), "start the process with Source.Env") {
			t.Errorf("without %s: error is %v, want one about the environment", missing, err)
		}
		t.Setenv(missing, env[missing])
	}
	free, err := Allocate(0)
	if err != nil {
		t.Fatalf("nothing: %v", err)
	}
	if _, err := Allocate(-1); err == nil {
		t.Error("less than nothing is allocated")
	}
	if err := free(); err != nil {
		t.Error(err)
	}
}

// TestRelative: what a process is told is right in its own folder, too.
func TestRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "gpus.json", `{"gpus": [{"name": "A100"}]}`)
	s, err := Open("gpus.json", "uses")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Env() {
		if _, path, _ := strings.Cut(v, "="); !filepath.IsAbs(path) {
			t.Errorf("%s is relative", v)
		}
	}
}

// TestShare: after it all users may write where claims are made, before it nobody else.
func TestShare(t *testing.T) {
	s, _ := open(t, `{"gpus": [{"name": "A100", "id": "a"}, {"name": "A100", "id": "b"}]}`)
	for _, v := range s.Env() {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	for id, want := range map[string]os.FileMode{"a": 0, "b": 0o022} {
		if want != 0 {
			if err := s.Share(); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv(envVisible, id)
		free, err := Allocate(profile.GiB)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"", lockName} {
			info, err := os.Stat(filepath.Join(s.uses, id, name))
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm() & 0o022; got != want {
				t.Errorf("%s may be written by others: %v, want %v", filepath.Join(id, name), got, want)
			}
		}
		if err := free(); err != nil {
			t.Error(err)
		}
		if err := os.Chmod(s.uses, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}
