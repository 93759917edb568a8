package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneFile: what colloc profile writes of a task is read by everybody who plans.
func TestOneFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(mainEnv, "1") // for burners
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	file := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	file("gpus.json", `{"gpus": [{"id": "free", "name": "A100-40GB"}]}`, 0o600)
	for name, says := range map[string]string{ // a Slurm cluster
		"squeue":   `{"jobs": []}`,
		"sinfo":    `{"nodes": [{"name": "n", "state": "idle", "partitions": ["main"], "gres": "gpu:a100:2", "cpus": 8, "real_memory": 64000}]}`,
		"scontrol": "PartitionName=main Default=YES State=UP",
	} {
		file(name, "#!/bin/sh\ncat <<'END'\n"+says+"\nEND\n", 0o700)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if status, _, stderr := process(t, dir, "profile", "-fake-gpus", "gpus.json", "-time", "1s", "--", "burn", "-steps", "300", "-mem", "3GiB", "-wait", "2ms"); status != 0 {
		t.Fatalf("profile: status %d, %s", status, stderr)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"describe", "colloc-task.json"}, "(measured)"},
		{[]string{"plan", "-gpus", "1xA100-40GB", "colloc-task.json"}, "burn"},
		{[]string{"sweep", "-fake-gpus", "gpus.json", "-known", "colloc-task.json", "-dry-run", "-n", "2", "--", "burn", "-steps", "3"}, "3.06 GiB"}, // 3 GiB was measured
		{[]string{"simulate", "-trace", "colloc-task.json", "-gpus", "1xA100-40GB", "-policies", "fifo", "-seeds", "1"}, "1 tasks on 1 GPUs"},
		{[]string{"slurm", "plan", "-sweep", "colloc-task.json"}, "burn"},
	} {
		if status, stdout, stderr := process(t, dir, tt.args...); status != 0 || !strings.Contains(stdout+stderr, tt.want) {
			t.Errorf("%q: status %d, no %q in %s%s", tt.args, status, tt.want, stdout, stderr)
		}
	}
}
