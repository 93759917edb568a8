// Package atstart makes a process that is to supervise a task do so before the packages
// that a supervisor does not need are initialised: those of metrics and of displays take
// more of a CPU than all that a supervisor does. Import it for its effect.
package atstart
