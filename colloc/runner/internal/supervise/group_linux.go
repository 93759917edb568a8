package supervise

import (
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/colloc/internal/owner"
)

// A run has a control group of its own where its user may make groups below the one
// that the runner is in, as in a systemd user session, in a unit with Delegate=yes and
// in some containers. Nothing that the command starts leaves it, under whatever parent,
// and the kernel ends all of it at once. Elsewhere only [endDescendants] looks.

// group is the folder of a control group of version 2; empty if there is none.
type group string

const (
	groupEvents = "cgroup.events" // of all groups but the topmost one of a host
	groupProcs  = "cgroup.procs"
	groupKill   = "cgroup.kill" // since Linux 5.14
	groupPrefix = "colloc-"
)

// groupOf returns the group of a process; none if it is the topmost one of the host,
// which is delegated to nobody, or one that this process cannot see.
func groupOf(pid string) group {
	text, err := os.ReadFile("/proc/" + pid + "/cgroup")
	if err != nil {
		return ""
	}
	return findGroup(string(text), "/sys/fs/cgroup", "/sys/fs/cgroup/unified")
}

// findGroup is groupOf with the text of /proc/PID/cgroup and the places where the tree
// of groups may be.
func findGroup(text string, trees ...string) group {
	for line := range strings.Lines(text) {
		path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::/")
		if !ok || path != "" && !filepath.IsLocal(path) {
			continue
		}
		for _, tree := range trees {
			dir := filepath.Join(tree, path)
			if _, err := os.Stat(filepath.Join(dir, groupEvents)); err == nil {
				return group(dir)
			}
		}
	}
	return ""
}

// groupName is the name of a run's group: another one for each supervisor there ever is.
func groupName(stem string, c Claim) string {
	return groupPrefix + digest(stem, c.Process.String(), c.Space.ID)
}

// isGroupName reports whether groupName may have made a name.
func isGroupName(name string) bool {
	text, ok := strings.CutPrefix(name, groupPrefix)
	sum, err := hex.DecodeString(text)
	return ok && err == nil && len(sum) == digestBytes
}

// child makes a group below g; none if that is not delegated to this user.
func (g group) child(name string) group {
	dir := filepath.Join(string(g), name)
	if g == "" || os.Mkdir(dir, 0o700) != nil {
		return ""
	}
	return group(dir)
}

// start starts a command in the group. Where the kernel refuses that, the group is
// removed, and the command starts without.
func (g *group) start(path string, argv []string, attr syscall.ProcAttr) (pid int, err error) {
	if *g != "" {
		sys := *attr.Sys
		in := attr
		in.Sys = &sys
		dir, err := os.Open(string(*g))
		if err == nil {
			sys.UseCgroupFD, sys.CgroupFD = true, int(dir.Fd())
			pid, err = syscall.ForkExec(path, argv, &in)
			_ = dir.Close() // nothing was written
		}
		if err == nil {
			return pid, nil
		}
		_ = syscall.Rmdir(string(*g)) // nothing is in it
		*g = ""
	}
	return syscall.ForkExec(path, argv, &attr)
}

// members lists the processes of a group and of those below it, and the folders of
// these, the upper ones first.
func (g group) members() (pids []int, dirs []string) {
	_ = filepath.WalkDir(string(g), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // what is gone has nobody
		}
		dirs = append(dirs, path)
		text, _ := os.ReadFile(filepath.Join(path, groupProcs)) // as above
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 { // 0 is one that this container does not see
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids, dirs
}

// end kills all that is in a group and removes it. It does not wait for what the kernel
// cannot end, as where a driver hangs.
func (g group) end() {
	if g == "" || syscall.Rmdir(string(g)) == nil { // usually nobody is left in it
		return
	}
	for range maxScans {
		pids, dirs := g.members()
		if len(pids) == 0 {
			for _, dir := range slices.Backward(dirs) {
				_ = syscall.Rmdir(dir) // that of a process that hangs stays
			}
			return
		}
		if !g.kill() {
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
		for _, pid := range pids {
			p, err := Find(pid)
			if err != nil {
				continue
			}
			if p.AwaitEnd(); p.Alive() {
				return
			}
		}
	}
}

// kill has the kernel kill a group; false if it cannot.
func (g group) kill() bool {
	file, err := os.OpenFile(filepath.Join(string(g), groupKill), os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	_, err = file.WriteString("1")
	return file.Close() == nil && err == nil
}

// leftAfter is how long a group must have been there to count as left when nobody is in
// it: a supervisor fills the one that it makes within milliseconds.
const leftAfter = time.Minute

// SweepGroups removes the groups of runs in which nobody is any more and that nobody
// removes: of supervisors that were killed beside their runner.
func SweepGroups() { groupOf("self").sweep(time.Now().Add(-leftAfter)) } //nolint:forbidigo // the kernel says when a group was made

// sweep removes the empty groups below g that a supervisor of this user made before a
// moment. One with a process in it or below it the kernel does not remove.
func (g group) sweep(before time.Time) {
	if g == "" {
		return
	}
	entries, _ := os.ReadDir(string(g)) // what cannot be read is left alone
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !isGroupName(entry.Name()) || !info.ModTime().Before(before) {
			continue
		}
		if uid, known := owner.Of(info); !known || int(uid) != os.Getuid() {
			continue
		}
		pids, dirs := group(filepath.Join(string(g), entry.Name())).members()
		if len(pids) > 0 {
			continue
		}
		for _, dir := range slices.Backward(dirs) {
			_ = syscall.Rmdir(dir) // as above
		}
	}
}

// endGroup ends the group of a run whose supervisor is gone: that below the group of
// this process, or that in which a process of the run is.
func endGroup(stem string, marked []int) {
	c, _, _ := ReadClaim(stem) // without one no group has that name
	name := groupName(stem, c)
	own := groupOf("self")
	if own != "" {
		group(filepath.Join(string(own), name)).end()
	}
	for _, pid := range marked {
		g := groupOf(strconv.Itoa(pid))
		if filepath.Base(string(g)) == name && !strings.HasPrefix(string(own)+"/", string(g)+"/") { // not from within
			g.end()
		}
	}
}
