package burn

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestHostile: whatever another user puts among the accounts of burners, what lies outside of them stays as it is, and nobody
// waits for him.
func TestHostile(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := errors.Join(
		os.Chmod(dir, 0o777), os.WriteFile(secret, []byte("1 2 3"), 0o600), os.Symlink(secret, filepath.Join(dir, "a")),
		os.Symlink(secret, filepath.Join(dir, "a.1")), syscall.Mkfifo(filepath.Join(dir, "a.2"), 0o600), os.WriteFile(filepath.Join(dir, "a.3"), []byte("4 5 6"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if all := readAccounts(dir, "a"); len(all) != 1 || all[3].Busy != 4 {
		t.Errorf("the accounts are %v, want that of process 3", all)
	}
	if c, err := attach(dir, "a"); err == nil {
		t.Errorf("a burner has the GPU %+v, a link out of the folder", c)
	}
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret is %v, %v", info, err)
	}
}
