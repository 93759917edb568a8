package supervise

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// LimitsOf returns the soft and hard limits of a process by their names, -1 for none: of one whose user ids, all
// four, are uid, or of any if uid is negative. Nothing that a user starts with such ids can have more than its
// parent has, so whoever reads the limits after the number was used again reads no more than that user may have.
func LimitsOf(pid string, uid int) (map[string][2]int64, error) {
	text, err := os.ReadFile("/proc/" + pid + "/limits")
	if err != nil {
		return nil, err
	}
	limits, err := parseLimits(string(text))
	if err != nil {
		return nil, fmt.Errorf("/proc/%s/limits: %w", pid, err)
	}
	if uid < 0 {
		return limits, nil
	}
	users, err := usersOf(pid) // after the limits: whose they were
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(users, func(u string) bool { return u != strconv.Itoa(uid) }) {
		return nil, fmt.Errorf("process %s is not user %d's alone", pid, uid)
	}
	return limits, nil
}

// usersOf are the four user ids of a process: real, effective, saved, and that of files.
func usersOf(pid string) ([]string, error) {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return nil, err
	}
	_, line, _ := strings.Cut(string(status), "\nUid:")
	line, _, _ = strings.Cut(line, "\n")
	const ids = 4
	users := strings.Fields(line)
	if len(users) != ids {
		return nil, fmt.Errorf("/proc/%s/status does not tell whose it is", pid)
	}
	return users, nil
}

// parseLimits reads what the kernel writes of a process's limits.
func parseLimits(text string) (map[string][2]int64, error) {
	limits := make(map[string][2]int64)
	for name, title := range map[string]string{
		"cpu": "Max cpu time", "fsize": "Max file size", "data": "Max data size", "stack": "Max stack size", "core": "Max core file size",
		"rss": "Max resident set", "nproc": "Max processes", "nofile": "Max open files", "memlock": "Max locked memory", "as": "Max address space",
	} {
		_, line, found := strings.Cut(text, "\n"+title+" ")
		words := strings.Fields(line)
		var limit [2]int64
		if !found || len(words) < len(limit) {
			return nil, fmt.Errorf("it tells no %q", title)
		}
		for i := range limit {
			if words[i] == "unlimited" {
				limit[i] = -1
				continue
			}
			n, err := strconv.ParseInt(words[i], 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("%s: %.20q is no limit", title, words[i])
			}
			limit[i] = n
		}
		limits[name] = limit
	}
	return limits, nil
}

// Within lowers a limit to what another allows.
func Within(limit, most [2]int64) [2]int64 {
	for i, n := range limit {
		if uint64(n) > uint64(most[1]) { //nolint:gosec // -1 is the largest, which is none
			limit[i] = most[1]
		}
	}
	return limit
}
