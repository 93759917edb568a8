package supervise

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// adopt makes this process the parent of all its descendants that lose theirs, so
// that none of them gets away, in whatever session it is.
func adopt() {
	const subreaper = 36 // PR_SET_CHILD_SUBREAPER, since Linux 3.4
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, subreaper, 1, 0)
}

// maxScans bounds how often endDescendants looks: what starts processes faster than
// they are killed is not caught.
const maxScans = 64

// endDescendants kills all that descends from this process. Usually that is
// nothing, which one system call tells. What it killed may hold a GPU's memory until it has ended:
// it waits for that, but not for what the kernel cannot end, as where a driver hangs.
func endDescendants() {
	killed := make(map[int]bool)
	for range maxScans {
		if !reapAll() {
			return
		}
		fresh := false
		below := descendants(os.Getpid())
		for _, pid := range below {
			if !killed[pid] {
				killed[pid], fresh = true, true
				_ = syscall.Kill(pid, syscall.SIGKILL) // its parent, killed before, cannot reap it: the number is its own
			}
		}
		if !fresh && !haveEnded(below) {
			return
		}
	}
}

// haveEnded waits for processes that were killed; false if one of them does not end.
func haveEnded(pids []int) bool {
	for _, pid := range pids {
		p, err := Find(pid)
		if err != nil {
			continue
		}
		if p.AwaitEnd(); p.Alive() {
			return false
		}
	}
	return true
}

// reapAll reaps the children that have ended; false if there are no others.
func reapAll() bool {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return false
		case pid == 0:
			return true
		}
	}
}

// descendants lists the processes below one, parents before their children.
func descendants(top int) []int {
	children := make(map[string][]int)
	for _, pid := range processes() {
		if fields, err := readStat(pid); err == nil {
			children[fields[statParent]] = append(children[fields[statParent]], pid)
		}
	}
	found := []int{top}
	for i := 0; i < len(found); i++ {
		found = append(found, children[strconv.Itoa(found[i])]...)
	}
	return found[1:]
}
