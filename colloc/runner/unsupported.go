//go:build !linux

package runner

import (
	"os"
	"strconv"
	"syscall"

	"example.com/colloc/profile"
)

// Supervise turns this process into the supervisor of one task if a Runner
// started it for that, and then does not return. Otherwise it does nothing. Call
// it first in main, before flags are read, and in TestMain. The packages that the
// program imports are initialised before, for each run anew: two milliseconds of
// a CPU for a lean program, more for one that links much.
func Supervise() {}

// What follows stands in for what Open refuses to use on this system.

func supported() error                                  { return ErrUnsupported }
func lockFolder(string) (*os.File, error)               { return nil, ErrUnsupported }
func lookPath(string, string, []string) (string, error) { return "", ErrUnsupported }
func owner(int, map[int]*entry) *entry                  { return nil }
func processOf(int) (process, error)                    { return process{}, ErrUnsupported }
func childOf(int) (process, bool)                       { return process{}, false }
func reap(process)                                      {}
func freeSpace(string) (profile.Bytes, bool)            { return 0, false }
func signalName(number int) string                      { return strconv.Itoa(number) }

func (process) alive() bool                              { return false }
func (process) killGroup()                               {}
func (process) signalGroup(syscall.Signal) (bool, error) { return false, ErrUnsupported }

type launch struct {
	stem, dir, path string
	argv, env       []string
}

func (*launch) start() (*supervisor, error) { return nil, ErrUnsupported }

type supervisor struct{}

func (*supervisor) task() (process, bool)       { return process{}, false }
func (*supervisor) detach()                     {}
func (*supervisor) wait(string) (outcome, bool) { return outcome{}, false }
