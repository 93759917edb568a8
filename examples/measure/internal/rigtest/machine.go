package rigtest

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/colloc/nvmlx/gonvml"
	"example.com/colloc/nvmlx/mps"
)

// Machine sets up a machine with the programs that a rig needs, for the rest of a
// test. Its GPUs are GPU-1, GPU-2 in MIG mode, and GPU-3 for one process at a time.
// The test must leave nothing in the temporary folder but the lock of a GPU.
func Machine(t *testing.T, s State) {
	t.Helper()
	if source, err := gonvml.Open(nil); err == nil {
		t.Skipf("there is a real driver here: %v", source.Close())
	}
	if mps.Running("") {
		t.Skip("there is a real MPS daemon here")
	}
	dir, err := os.MkdirTemp("", "rig") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		left, err := filepath.Glob(filepath.Join(dir, "colloc-measure-*"))
		if err != nil || len(left) != 1 { // the lock
			t.Errorf("left behind: %q, %v", left, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	install(t, dir, s, smiName, controlName, pythonName)
	t.Setenv("TMPDIR", dir)
	t.Setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "1")
}

// SMI sets up a machine that has nvidia-smi and nothing else, for the rest of a test.
func SMI(t *testing.T, s State) {
	t.Helper()
	install(t, t.TempDir(), s, smiName)
}

// install makes the test binary the programs of a machine.
func install(t *testing.T, dir string, s State, programs ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(stateEnv, string(s))
	t.Setenv("PATH", dir)
}
