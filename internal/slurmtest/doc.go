// Package slurmtest starts a private Slurm cluster for tests: real daemons of
// this machine's packages, which emulate any number of nodes with GPUs.
//
// Everything listens on the loopback interface, on ports that were free, and
// lives in one temporary directory. The cluster stops when the test ends; a
// process that is still there then fails the test. It works as root and as an
// ordinary user.
//
// It keeps no accounts (slurmdbd with MariaDB) and knows users of slurmrestd by its socket,
// not by tokens (slurm-wlm-jwt-plugin): what reads sacct and renews tokens is tested on
// recorded answers and on servers of its own.
//
// The package holds nothing without the build tag slurm. On Debian:
//
//	apt-get install -y --no-install-recommends slurm-wlm slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins slurmrestd
//	go test -tags slurm -parallel 8 -run "^TestCluster|^TestRecorded" ./colloc/slurm ./colloc/cmd/internal/slurm
package slurmtest
