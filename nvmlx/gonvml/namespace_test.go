//go:build linux && cgo

package gonvml

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func TestInnerPID(t *testing.T) {
	proc := t.TempDir()
	for pid, status := range map[int]string{
		10: "Name:\tpython\nPid:\t10\nNSpid:\t10\nThreads:\t1\n",
		11: "Name:\tpython\nNSpid:\t11\t7\n",
		12: "NSpid:\t12\t300\t1\n",
		13: "Name:\tpython\n",
		14: "NSpid:\t900\t1\n",
		15: "NSpid:\t15\tx\n",
	} {
		dir := filepath.Join(proc, strconv.Itoa(pid))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "status"), []byte(status), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pid, want := range map[int]int{10: 0, 11: 7, 12: 1, 13: 0, 14: 0, 15: 0, 16: 0} {
		if got := innerPID(proc, pid).Or(0); got != want {
			t.Errorf("process %d: %d, want %d (0 is missing)", pid, got, want)
		}
	}
}
