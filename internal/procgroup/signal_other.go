//go:build !unix

package procgroup

import (
	"os"
	"os/exec"
)

// Signal sends a signal to the process alone.
func Signal(cmd *exec.Cmd, s os.Signal) { _ = cmd.Process.Signal(s) } // fails if it has ended
