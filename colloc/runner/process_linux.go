package runner

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"example.com/colloc/profile"
)

// Fields of /proc/PID/stat after the name of the program, see proc(5).
const (
	statState   = 0
	statParent  = 1
	statSession = 3
	statStart   = 19
	statFields  = 20
)

// readStat returns the fields of /proc/PID/stat that follow the name.
func readStat(pid int) ([]string, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	end := strings.LastIndexByte(string(text), ')') // the name may hold blanks and parentheses
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < statFields {
		return nil, fmt.Errorf("/proc/%d/stat is not understood", pid)
	}
	return fields, nil
}

// processOf looks up a running process.
func processOf(pid int) (process, error) {
	fields, err := readStat(pid)
	if err != nil {
		return process{}, err
	}
	start, err := strconv.ParseUint(fields[statStart], 10, 64)
	return process{pid: pid, start: start}, err
}

// alive reports whether p runs. A process that has ended and that nobody waited
// for does not.
func (p process) alive() bool {
	fields, err := readStat(p.pid)
	if err != nil {
		return false
	}
	start, err := strconv.ParseUint(fields[statStart], 10, 64)
	ended := strings.ContainsAny(fields[statState], "ZXx")
	return err == nil && start == p.start && !ended
}

// signalGroup sends a signal to the process group that p leads. It reports
// whether p was there to take it.
func (p process) signalGroup(s syscall.Signal) (bool, error) {
	if p.pid <= 1 || !p.alive() {
		return false, nil
	}
	err := syscall.Kill(-p.pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return false, nil
	}
	return err == nil, err
}

// killGroup kills what is left of the process group that p led, after the end of
// p too: its number is not given to another process as long as the group exists.
func (p process) killGroup() {
	if now, err := processOf(p.pid); p.pid <= 1 || err == nil && now != p {
		return
	}
	_ = syscall.Kill(-p.pid, syscall.SIGKILL) // usually nothing is left
}

// childOf returns a process that parent started: the first in /proc.
func childOf(parent int) (process, bool) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return process{}, false
	}
	for _, entry := range names {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		fields, err := readStat(pid)
		if err != nil || fields[statParent] != strconv.Itoa(parent) {
			continue
		}
		p, err := processOf(pid)
		return p, err == nil
	}
	return process{}, false
}

// maxAncestors bounds the way up from a process.
const maxAncestors = 64

// owner returns which of the sessions a process belongs to: its own, or that of
// the nearest ancestor that is in one.
func owner(pid int, sessions map[int]*entry) *entry {
	for range maxAncestors {
		fields, err := readStat(pid)
		if err != nil {
			return nil
		}
		session, err := strconv.Atoi(fields[statSession])
		if err != nil {
			return nil
		}
		if e := sessions[session]; e != nil {
			return e
		}
		if pid, err = strconv.Atoi(fields[statParent]); err != nil || pid <= 1 {
			return nil
		}
	}
	return nil
}

// freeSpace is what a user may still write to the disk of a folder; false if that
// is not known.
func freeSpace(dir string) (profile.Bytes, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Blocks == 0 {
		return 0, false
	}
	return profile.BytesOf(float64(s.Bavail) * float64(s.Bsize)), true
}

func signalName(number int) string { return syscall.Signal(number).String() }
