package probe

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// family returns a process and all that descend from it, with the CPU time that each
// has had. What cannot be read has ended.
func family(root int) map[int]time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ is 100 everywhere
	type stat struct {
		parent int
		cpu    time.Duration
	}
	stats := make(map[int]stat)
	entries, _ := os.ReadDir("/proc") // without it nobody is seen
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		// The name, in brackets, may hold anything.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 13 || string(fields[0]) == "Z" {
			continue
		}
		number := func(i int) int { n, _ := strconv.Atoi(string(fields[i])); return n }
		stats[pid] = stat{number(1), time.Duration(number(11)+number(12)) * tick}
	}
	members := make(map[int]time.Duration)
	for pid := range stats {
		const deepest = 64
		at := pid
		for range deepest {
			if at == root {
				members[pid] = stats[pid].cpu
				break
			}
			s, ok := stats[at]
			if !ok || s.parent <= 1 {
				break
			}
			at = s.parent
		}
	}
	return members
}

// lives reports whether a process is seen from here.
func lives(pid int) bool {
	_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil
}

// outputs are the files that a process writes its output to, as far as these are
// files.
func outputs(pid int) (files []string) {
	for _, fd := range []string{"1", "2"} {
		path, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "fd", fd))
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && (len(files) == 0 || files[0] != path) {
			files = append(files, path)
		}
	}
	return files
}

// running are the words of the command of a process, and where it runs.
func running(pid int) (words []string, dir string) {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")) // empty if it is not told
	for word := range bytes.SplitSeq(bytes.TrimRight(text, "\x00"), []byte{0}) {
		words = append(words, string(word))
	}
	dir, _ = os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	return words, dir
}
