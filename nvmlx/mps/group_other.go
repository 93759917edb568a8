//go:build !unix

package mps

import "os/exec"

// ownGroup does nothing: MPS exists on Linux only.
func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
