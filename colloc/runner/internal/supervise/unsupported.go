//go:build !linux

package supervise

import (
	"io"
	"strconv"
	"syscall"

	"example.com/colloc/profile"
)

// Main turns this process into the supervisor of one task if [Launch]
// started it for that, and then does not return. Otherwise it does nothing. Call
// it first in main, before flags are read, and in TestMain.
func Main() {}

// What follows stands in for what Supported refuses to use on this system.

func Supported() error                                  { return ErrUnsupported }
func Lock(string) (io.Closer, error)                    { return nil, ErrUnsupported }
func LookPath(string, string, []string) (string, error) { return "", ErrUnsupported }
func Owner[T any](int, map[int]T) (owner T, found bool) { return owner, false }
func Find(int) (Process, error)                         { return Process{}, ErrUnsupported }
func ChildOf(int) (Process, bool)                       { return Process{}, false }
func Reap(Process)                                      {}
func KillRest(string)                                   {}
func SweepGroups()                                      {}
func ThisSpace() Space                                  { return Space{} }
func Key(string, string, []string) string               { return "" }
func FreeSpace(string) (profile.Bytes, bool)            { return 0, false }
func Variable(int, string) string                       { return "" }
func LimitsOf(string, int) (map[string][2]int64, error) { return nil, ErrUnsupported }
func Within(limit, _ [2]int64) [2]int64                 { return limit }
func FreePort(int, map[int]bool) int                    { return 0 }
func signalName(number int) string                      { return strconv.Itoa(number) }

func (Process) Alive() bool                              { return false }
func (Process) AwaitEnd()                                {}
func (Process) SignalGroup(syscall.Signal) (bool, error) { return false, ErrUnsupported }

func (*Launch) Start() (*Supervisor, error) { return nil, ErrUnsupported }

type Supervisor struct{}

func (*Supervisor) Task() (Process, bool) { return Process{}, false }
func (*Supervisor) PID() int              { return 0 }
func (*Supervisor) Detach()               {}
func (*Supervisor) Hurry()                {}
func (*Supervisor) Wait() (Outcome, bool) { return Outcome{}, false }
