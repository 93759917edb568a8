//go:build unix

package mps

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the daemon into a process group of its own: Ctrl-C at the
// terminal, which means the program that started it, must not end the daemon
// under its tasks.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the daemon and the servers that it started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // fails if all have ended
