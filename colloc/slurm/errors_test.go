package slurm

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"example.com/colloc/colloc/slurm/site"
)

// What the programs of 22.05.8 printed, with their exit status.
func TestErrorKinds(t *testing.T) {
	tests := []struct {
		name, stderr string
		code         int
		want         error
		says         string
	}{
		{"no configuration", "squeue: error: s_p_parse_file: cannot stat file /nonexistent: No such file or directory, retrying in 1sec up to 60sec\nsqueue: error: ClusterName needs to be specified\nsqueue: fatal: Unable to process configuration file\n", 1, site.ErrNoCluster, "Unable to process configuration file"},
		{"no address", "squeue: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\nsqueue: error: fetch_config: DNS SRV lookup failed\nsqueue: error: _establish_config_source: failed to fetch config\nsqueue: fatal: Could not establish a configuration source\n", 1, site.ErrNoCluster, "DNS SRV lookup failed"},
		{"controller down", "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n", 1, site.ErrNoCluster, "Batch job submission failed: Unable to contact"},
		{"partition", "sbatch: error: invalid partition specified: nope\nsbatch: error: Batch job submission failed: Invalid partition name specified\n", 1, site.ErrPartition, "invalid partition specified: nope; Batch job"},
		{"no such GPU", "sbatch: error: Batch job submission failed: Requested node configuration is not available\n", 1, site.ErrImpossible, "not available"},
		{"test only", "allocation failure: Requested node configuration is not available\n", 1, site.ErrImpossible, "allocation failure"},
		{"node", "sbatch: error: Batch job submission failed: Invalid node name specified\n", 1, site.ErrImpossible, ""},
		{"memory", "sbatch: error: Memory specification can not be satisfied\nsbatch: error: Batch job submission failed: Requested node configuration is not available\n", 1, site.ErrImpossible, "Memory specification"},
		{"gres", "sbatch: error: Invalid generic resource (gres) specification\n", 1, site.ErrImpossible, ""},
		{"feature", "sbatch: error: Batch job submission failed: Invalid feature specification\n", 1, site.ErrImpossible, ""},
		{"not my job", "scancel: error: Kill job error on job id 1: Access/permission denied\n", 210, site.ErrPermission, "job id 1"},
		{"not my node", "slurm_update error: Invalid user id\n", 1, site.ErrPermission, ""},
		{"job", "slurm_load_jobs error: Invalid job id specified\n", 1, site.ErrNoJob, ""},
		{"accounting", "Slurm accounting storage is disabled\n", 1, site.ErrNoAccounting, ""},
		{"a plugin's words", "sbatch: error: colloc: no_partner_fits\nsbatch: error: Batch job submission failed: Unspecified error\n", 1, site.ErrRefused, "colloc: no_partner_fits"},
		{"silence", "", 7, site.ErrRefused, "status 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{answers: map[string][]Output{"scancel": {{Stderr: []byte(tt.stderr), Code: tt.code}}}}
			err := NewClient(Config{Runner: f}).Cancel(t.Context(), 1)
			var e *site.Error
			if !errors.As(err, &e) || !errors.Is(err, tt.want) || e.Code != tt.code {
				t.Fatalf("got %v, want %v with status %d", err, tt.want, tt.code)
			}
			if !strings.HasPrefix(err.Error(), "slurm: scancel 1: ") || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "error: error") {
				t.Errorf("%q does not name the command and say %q", err, tt.says)
			}
		})
	}
}

func TestErrorsBelow(t *testing.T) {
	client := NewClient(Config{Runner: Exec{Bin: t.TempDir()}})
	if _, err := client.Jobs(t.Context()); !errors.Is(err, site.ErrNoCluster) || !strings.Contains(err.Error(), "squeue --json") {
		t.Errorf("no program: got %v, want ErrNoCluster that names squeue", err)
	}
	f := &fake{err: exec.ErrNotFound}
	if _, err := NewClient(Config{Runner: f}).Nodes(t.Context()); !errors.Is(err, site.ErrNoCluster) || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("no PATH: got %v, want ErrNoCluster that says so", err)
	}
	f.err = context.DeadlineExceeded
	if _, err := NewClient(Config{Runner: f}).Nodes(t.Context()); !errors.Is(err, site.ErrNoCluster) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("too late: got %v, want ErrNoCluster because of the deadline", err)
	}
}

func TestErrorIsShort(t *testing.T) {
	f := &fake{answers: map[string][]Output{"": {{Stderr: []byte(strings.Repeat("sinfo: error: x\xff\n", 5000)), Code: 1}}}}
	_, err := NewClient(Config{Runner: f}).Nodes(t.Context())
	if n := len(err.Error()); n > 1200 {
		t.Errorf("the message has %d bytes", n)
	}
}
