package fakegpu

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/colloc/internal/filelock"
	"example.com/colloc/nvmlx"
)

// TestHostile: whatever another user puts among the claims, what lies outside of them stays as it is, and nobody waits for him.
func TestHostile(t *testing.T) {
	s, _ := open(t, `{"gpus": [{"name": "A100-40GB", "id": "a"}, {"name": "A100-40GB", "id": "b"}]}`)
	if err := s.Share(); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	in := func(name string) string { return filepath.Join(s.uses, "a", name) }
	if err := errors.Join(
		os.WriteFile(secret, []byte("1 2 3"), 0o600), os.Mkdir(in(""), 0o700), os.Symlink(outside, filepath.Join(s.uses, "b")),
		os.Symlink(secret, in("1.1")), os.Symlink(filepath.Join(outside, "made"), in("2.1")), syscall.Mkfifo(in("3.1"), 0o600), os.Mkdir(in("4.1"), 0o700),
		os.WriteFile(in("5.1"), []byte("9223372036854775807"), 0o600), os.WriteFile(in("6.1"), []byte("-5"), 0o600), os.WriteFile(in("x.1"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	hold := func(name string) {
		t.Helper()
		f, err := os.Open(in(name))
		if err == nil {
			t.Cleanup(func() { _ = f.Close() })
			err = filelock.Take(f)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	hold("5.1") // as of processes that live
	hold("6.1")
	if list, err := s.Processes(t.Context(), "a"); err != nil || len(list) != 0 {
		t.Errorf("there are %+v, %v; want none", list, err)
	}
	if sample, err := s.Read(t.Context(), "b", nvmlx.FieldMemUsed); !errors.Is(err, nvmlx.ErrTransient) {
		t.Errorf("of a folder that is a link %+v, %v", sample, err)
	}
	names, err := os.ReadDir(outside)
	info, statErr := os.Stat(secret)
	if err := errors.Join(err, statErr); err != nil || len(names) != 1 || info.Mode().Perm() != 0o600 {
		t.Errorf("outside of the folder are %v, the secret is %v, %v", names, info, err)
	}
	hold(lockName)
	if _, err := s.Processes(t.Context(), "a"); !errors.Is(err, filelock.ErrInUse) || !errors.Is(err, nvmlx.ErrTransient) {
		t.Errorf("where somebody keeps the lock: %v", err)
	}
}
