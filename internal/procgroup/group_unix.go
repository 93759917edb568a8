//go:build unix

package procgroup

import (
	"os/exec"
	"syscall"
)

// Own gives a command that was not started yet a process group of its own.
func Own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Kill ends a command that was started after Own, and its children. It must not
// be called once the command was waited for: its number may be another's then.
func Kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // fails if all have ended
