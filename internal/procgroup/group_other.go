//go:build !unix

package procgroup

import "os/exec"

// Own does nothing here: there are no process groups.
func Own(*exec.Cmd) {}

// Kill ends the process alone.
func Kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // fails if it has ended
