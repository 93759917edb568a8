// Package mps shares a GPU through NVIDIA's Multi-Process Service: the
// environment that gives a task its share, how many tasks a GPU takes, and the
// control daemon as a supervised process.
//
// A [Share] becomes environment variables with [Share.Env]; tasks that are
// started with them, while a daemon listens in the same pipe directory, run
// their kernels side by side. [MaxClients] says how many can. [Start] runs a
// daemon and returns once it answers; where an administrator already runs one,
// [Running] finds it and no Daemon is needed.
//
// The thread percentage is a cap and no reservation; the driver rounds it down
// to what the hardware can do and fixes it when the task starts. The memory limit
// counts what CUDA itself allocates in the task; going beyond it fails like an
// ordinary lack of memory. A fatal fault of one task's kernels ends every task
// on the same daemon: one daemon with its own pipe directory for each GPU keeps
// such faults apart.
//
// This package never sets compute mode, MIG mode, persistence or clocks. NVIDIA
// advises the compute mode "exclusive process" with MPS, which is root's to set.
//
// Source: NVIDIA Multi-Process Service guide, releases 550 to 615.
package mps
