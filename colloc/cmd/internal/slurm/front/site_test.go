package front

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/slurm"
	"example.com/colloc/internal/testbed"
)

// TestSite: a site is told on one page what to switch on, what its own past would have gained, and what could go wrong.
func TestSite(t *testing.T) {
	dir := t.TempDir()
	past := filepath.Join(dir, "jobs.csv")
	var text strings.Builder
	text.WriteString("job,user,name,submitted,start,end,gpus,gpu,nodes,sm_active,memory\n")
	for i := range 12 {
		const noon = 1769860800
		fmt.Fprintf(&text, "%d,ann,train%d,%d,%d,%d,1,A100-40GB,g1,0.2,3GiB\n", i+1, i, noon, noon+3600*i, noon+3600*(i+1))
	}
	if err := os.WriteFile(past, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	client := slurm.NewClient(slurm.Config{Runner: small{}})
	if err := Advise(t.Context(), parser, []string{"-site", "-past", past, "-scripts", dir}, client, time.Time{}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"g1,g2: 4 GPUs a100 on each, not shared",
		"expected gain, as it is        : of 12 GPU hours of 12 jobs ",
		"expected gain, with shares or MPS: of 12 GPU hours of 12 jobs ",
		"slurm.conf  NodeName=g1,g2 ... Gres=gpu:a100:4,shard:32\n", "gres.conf   NodeName=g1,g2 Name=shard Count=32\n",
		"Gres=gpu:a100:4,mps:400\n", "What could go wrong:", "written: " + filepath.Join(dir, "mps_prolog.sh"),
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines > 40 {
		t.Errorf("%d lines are no page:\n%s", lines, &out)
	}
	out.Reset()
	if err := Advise(t.Context(), parser, []string{"-site"}, client, time.Time{}, &out); err != nil || !strings.Contains(out.String(), "expected gain: not known without -past") {
		t.Error(err, &out)
	}
	for _, args := range []string{"-site -point a100:1=1", "-past x", "-site -past nothing.txt"} {
		if err := Advise(t.Context(), parser, strings.Fields(args), client, time.Time{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

// TestMPSScripts: the daemon starts with the first job that has a share, once, and ends after the last; a job without one
// changes nothing, and no fault drains a node.
func TestMPSScripts(t *testing.T) {
	if path, err := exec.LookPath("shellcheck"); err == nil {
		if out, err := exec.Command(path, "--severity=style", "scripts/mps_prolog.sh", "scripts/mps_epilog.sh").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	dir := t.TempDir()
	const daemon = `#!/bin/bash
if [ "${1-}" = -d ]; then echo start >>"$FAKE/calls"; touch "$FAKE/runs"; exit "${FAIL-0}"; fi
read -r command
[ -e "$FAKE/runs" ] || exit 1
[ "$command" != quit ] || { echo quit >>"$FAKE/calls"; rm "$FAKE/runs"; }
`
	if err := testbed.Program(filepath.Join(dir, "nvidia-cuda-mps-control"), []byte(daemon)); err != nil {
		t.Fatal(err)
	}
	run := func(script string, job int, more ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", filepath.Join("scripts", script))
		cmd.Env = append([]string{
			"PATH=" + dir + ":" + os.Getenv("PATH"), "FAKE=" + dir, "COLLOC_MPS_DIR=" + filepath.Join(dir, "mps"),
			"CUDA_MPS_PIPE_DIRECTORY=" + filepath.Join(dir, "pipe"), fmt.Sprint("SLURM_JOB_ID=", job),
		}, more...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s of job %d: %v\n%s", script, job, err, out)
		}
	}
	calls := func(want string) {
		t.Helper()
		text, _ := os.ReadFile(filepath.Join(dir, "calls")) // none yet
		if got := strings.Join(strings.Fields(string(text)), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	const share = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50"
	run("mps_prolog.sh", 1)
	run("mps_epilog.sh", 1)
	calls("")
	run("mps_prolog.sh", 2, share)
	run("mps_prolog.sh", 3, share)
	calls("start")
	run("mps_epilog.sh", 2)
	calls("start")
	run("mps_epilog.sh", 3)
	calls("start quit")
	run("mps_prolog.sh", 4, share, "FAIL=1")
	calls("start quit start")
}
