//go:build !linux && !darwin

package main

import (
	"os"
	"os/exec"
)

// ownGroup does nothing here: there are no process groups.
func ownGroup(*exec.Cmd) {}

// killGroup ends the process alone.
func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // fails if it has ended
}

// lock does nothing here: there is no GPU to measure on either.
func lock(*os.File) error { return nil }
