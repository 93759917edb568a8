//go:build !slurm

package slurm_test

import (
	"testing"
)

func TestCluster(t *testing.T) {
	t.Skip(`no real cluster is started; internal/slurmtest says what to install, then: go test -tags slurm -parallel 8 -run "^TestCluster|^TestRecorded" ./colloc/slurm ./colloc/cmd/internal/slurm`)
}
