package supervise

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"example.com/colloc/profile"
)

// Fields of /proc/PID/stat after the name of the program, see proc(5).
const (
	statState   = 0
	statParent  = 1
	statSession = 3
	statFlags   = 6
	statThreads = 17
	statStart   = 19
	statFields  = 20
	statEnv     = 47 // its environment's start in memory, and after it the end, since Linux 3.5
)

// readStat returns the fields of /proc/PID/stat that follow the name.
func readStat(pid int) ([]string, error) { return readStatIn(folderOf(pid)) }

func folderOf(pid int) string { return "/proc/" + strconv.Itoa(pid) }

// readStatIn does so for the folder of a process or of one of its threads.
func readStatIn(dir string) ([]string, error) {
	text, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return nil, err
	}
	end := strings.LastIndexByte(string(text), ')') // the name may hold blanks and parentheses
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < statFields {
		return nil, fmt.Errorf("%s/stat is not understood", dir)
	}
	return fields, nil
}

// threads lists the folders of a process's threads.
func threads(pid int) (dirs []string) {
	entries, _ := os.ReadDir(folderOf(pid) + "/task") // what is gone has none
	for _, entry := range entries {
		dirs = append(dirs, folderOf(pid)+"/task/"+entry.Name())
	}
	return dirs
}

// Find looks up a running process.
func Find(pid int) (Process, error) {
	fields, err := readStat(pid)
	if err != nil {
		return Process{}, err
	}
	start, err := strconv.ParseUint(fields[statStart], 10, 64)
	return Process{PID: pid, Start: start}, err
}

// Alive reports whether p runs. A process that has ended and that nobody waited for does
// not; one whose first thread has ended runs as long as another one does.
func (p Process) Alive() bool {
	fields, err := readStat(p.PID)
	if err != nil {
		return false
	}
	start, err := strconv.ParseUint(fields[statStart], 10, 64)
	return err == nil && start == p.Start && !hasEnded(fields)
}

// hasEnded reports whether all threads of a process have ended.
func hasEnded(fields []string) bool {
	left, err := strconv.Atoi(fields[statThreads])
	return err == nil && left <= 1 && strings.ContainsAny(fields[statState], "ZXx")
}

// SignalGroup sends a signal to the process group that p leads. It reports
// whether p was there to take it.
func (p Process) SignalGroup(s syscall.Signal) (bool, error) {
	if p.PID <= 1 {
		return false, nil
	}
	held, err := os.FindProcess(p.PID) // by a pidfd where there is one: it stays this process
	if err != nil {
		return false, nil
	}
	defer func() { _ = held.Release() }()
	if !p.Alive() || held.Signal(syscall.Signal(0)) != nil {
		return false, nil
	}
	err = syscall.Kill(-p.PID, s)
	if errors.Is(err, syscall.ESRCH) {
		return false, nil
	}
	return err == nil, err
}

// AwaitEnd waits until a process that was killed has let go of its files and of its
// memory, which takes the kernel a moment, but no longer than ten seconds: where a
// driver hangs that is never. Without pidfds (Linux 5.3) it does not wait.
func (p Process) AwaitEnd() {
	const pidfdOpen, readable, tries = 434, 1, 64
	fd, _, fault := syscall.Syscall(pidfdOpen, uintptr(p.PID), 0, 0)
	if fault != 0 {
		return
	}
	defer func() { _ = syscall.Close(int(fd)) }()        // it was only waited for
	if now, err := Find(p.PID); err != nil || now != p { // its first thread may be a zombie while others live
		return
	}
	wait := struct {
		fd             int32
		events, happen int16
	}{fd: int32(fd), events: readable}
	most := syscall.Timespec{Sec: 10}
	for range tries { // a signal to this process ends the call early
		if _, _, fault = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&wait)), 1, uintptr(unsafe.Pointer(&most)), 0, 0, 0); fault != syscall.EINTR {
			return
		}
	}
}

// isStarting reports whether a process of this user that seemed to have no environment has one
// or is about to: execve(2) drops the old memory, and fills the new one a moment later.
func isStarting(pid int) bool {
	const kernelThread = 0x200000 // PF_KTHREAD
	fields, err := readStat(pid)
	if err != nil || len(fields) <= statEnv+1 || isExiting(fields) {
		return false
	}
	start, end := fields[statEnv], fields[statEnv+1]
	flags, err := strconv.ParseUint(fields[statFlags], 10, 64)
	return err == nil && flags&kernelThread == 0 && (end == "0" || end != start)
}

// isExiting reports whether a thread is on its way out, or has gone it.
func isExiting(fields []string) bool {
	const exiting = 4 // PF_EXITING
	flags, err := strconv.ParseUint(fields[statFlags], 10, 64)
	return err == nil && flags&exiting != 0
}

// processes lists the numbers in /proc.
func processes() (pids []int) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range names {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ChildOf returns the first process that parent started. Later ones that lost their
// own parent are its children too.
func ChildOf(parent int) (first Process, found bool) {
	for _, pid := range processes() {
		fields, err := readStat(pid)
		if err != nil || fields[statParent] != strconv.Itoa(parent) {
			continue
		}
		p, err := Find(pid)
		if err == nil && (!found || p.Start < first.Start || p.Start == first.Start && pid < first.PID) {
			first, found = p, true
		}
	}
	return first, found
}

// maxAncestors bounds the way up from a process.
const maxAncestors = 64

// Owner returns which of the sessions a process belongs to: its own, or that of
// the nearest ancestor that is in one.
func Owner[T any](pid int, sessions map[int]T) (owner T, found bool) {
	for range maxAncestors {
		fields, err := readStat(pid)
		if err != nil {
			return owner, false
		}
		session, _ := strconv.Atoi(fields[statSession]) // a number, as the next
		if owner, found = sessions[session]; found {
			return owner, true
		}
		pid, _ = strconv.Atoi(fields[statParent]) // 0 of the first, and no process
	}
	return owner, false
}

// FreePort returns a port of this host, from first on, that is neither taken nor in
// use at the moment; 0 if there is none among the next thousand.
func FreePort(first int, taken map[int]bool) int {
	const tries = 1000
	for port := first; port < first+tries; port++ {
		if taken[port] {
			continue
		}
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return 0
		}
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port})
		_ = syscall.Close(fd)
		if err == nil {
			return port
		}
	}
	return 0
}

// FreeSpace is what a user may still write to the disk of a folder, which is nothing where
// no more files can be made; false if that is not known.
func FreeSpace(dir string) (profile.Bytes, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Blocks == 0 {
		return 0, false
	}
	return spaceOf(&s), true
}

func spaceOf(s *syscall.Statfs_t) profile.Bytes {
	const files = 64 // for a few runs; a disk that counts none has no total
	if s.Files > 0 && s.Ffree < files {
		return 0
	}
	return profile.BytesOf(float64(s.Bavail) * float64(s.Bsize))
}

func signalName(number int) string { return syscall.Signal(number).String() }

// Variable is a setting in the environment that a process began with; empty if there
// is none, or no such process of this user. Where a process is about to become another
// program, which takes the kernel a moment, it waits for that.
func Variable(pid int, name string) string {
	for range maxScans {
		if value, soon := variable(pid, name); !soon {
			return value
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // what it waits for is the kernel
	}
	return ""
}

// variable is Variable without the wait; soon says that there may be something in a moment.
func variable(pid int, name string) (value string, soon bool) {
	env, err := os.ReadFile(folderOf(pid) + "/environ")
	if err == nil && len(env) == 0 && isStarting(pid) {
		return "", true
	}
	if len(env) == 0 { // its first thread may have ended before the others
		for _, dir := range threads(pid) {
			if env, _ = os.ReadFile(dir + "/environ"); len(env) > 0 {
				break
			}
		}
	}
	for v := range strings.SplitSeq(string(env), "\x00") {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, false
		}
	}
	return "", false
}

// ThisSpace is where this process runs.
func ThisSpace() Space {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Space{}
	}
	inside, _ := os.Readlink("/proc/self/ns/pid") // without it, a host that has no containers
	host, _ := os.Hostname()
	return Space{ID: digest(string(boot), inside), Host: strings.Join(strings.Fields(host), "-")}
}

// digest is a short name for texts.
const digestBytes = 5

func digest(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:digestBytes])
}

// Key is a short name for a task, which its claim has: to find again what runs when
// the queue is lost.
func Key(id, dir string, argv []string) string {
	return digest(append([]string{id, dir}, argv...)...)
}

// wait waits for the command to end, and for processes that lost their parent.
func wait(pid int) (status syscall.WaitStatus, err error) {
	for {
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		if ended == pid || err != nil && !errors.Is(err, syscall.EINTR) {
			return status, err
		}
	}
}
