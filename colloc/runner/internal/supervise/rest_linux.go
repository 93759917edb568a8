package supervise

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// seat is the session of a process and the user who started it. A session alone is no run's: root's shell and what it
// started as a user are in one.
type seat struct{ session, user string }

func seatOf(pid int) (seat, error) {
	fields, err := readStat(pid)
	if err != nil {
		return seat{}, err
	}
	users, _, err := statusOf(strconv.Itoa(pid))
	if err != nil {
		return seat{}, err
	}
	return seat{fields[statSession], users[0]}, nil
}

// KillRest kills what is left of a run whose supervisor is gone: the processes that
// have its mark in their environment, wherever they went, those of the same user that share a session
// with one, and its control group if it has one. Others may have got the numbers that
// the run had; what cannot be shown to be its is left alone. It waits for what it
// killed, and for what is ending.
func KillRest(stem string) {
	marked, ending := markedBy(stem)
	seats := make(map[seat]bool)
	own, _ := seatOf(os.Getpid())
	for _, pid := range marked {
		if s, err := seatOf(pid); err == nil && s.session != own.session { // whoever called us with that environment is no task
			seats[s] = true
		}
	}
	endGroup(stem, marked)
	killed := make(map[int]bool)
	for range maxScans { // what was killed may have started others before
		before := len(killed)
		for _, pid := range processes() {
			held, _ := os.FindProcess(pid) // never fails here
			if s, err := seatOf(pid); err == nil && seats[s] && !killed[pid] {
				_ = held.Signal(syscall.SIGKILL) // it may have ended
				killed[pid] = true
			}
			_ = held.Release()
		}
		if len(killed) == before {
			break
		}
	}
	for _, pid := range slices.AppendSeq(ending, maps.Keys(killed)) {
		if p, err := Find(pid); err == nil {
			p.AwaitEnd()
		}
	}
}

// markedBy are the processes that have the mark of a run, and those that are ending, of which nobody knows whose they were.
// It waits for those that are about to become another program.
func markedBy(stem string) (marked, ending []int) {
	name, value, _ := strings.Cut(Mark(stem), "=")
	for scan, left := 0, processes(); len(left) > 0 && scan < maxScans; scan++ {
		var starting []int
		for _, pid := range left {
			switch got, soon := variable(pid, name); {
			case soon:
				starting = append(starting, pid)
			case got == value:
				marked = append(marked, pid)
			case isEnding(pid):
				ending = append(ending, pid)
			}
		}
		if left = starting; len(left) > 0 {
			time.Sleep(time.Millisecond) //nolint:forbidigo // what it waits for is the kernel
		}
	}
	return marked, ending
}

// isEnding reports whether the kernel is about to end a process with all its threads, which
// has no environment any more then.
func isEnding(pid int) bool {
	fields, err := readStat(pid)
	return err == nil && !hasEnded(fields) && isExiting(fields) && !slices.ContainsFunc(threads(pid), func(dir string) bool {
		fields, err := readStatIn(dir)
		return err == nil && !isExiting(fields)
	})
}
