//go:build unix

package procgroup

import (
	"os"
	"os/exec"
	"syscall"
)

// Signal sends a signal to a command that was started after Own, and to its
// children. It must not be called once the command was waited for, see Kill.
func Signal(cmd *exec.Cmd, s os.Signal) {
	if number, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(-cmd.Process.Pid, number) // fails if all have ended
	}
}
