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
	users, _, err := statusOf(pid) // after the limits: whose they were
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(users, func(u string) bool { return u != strconv.Itoa(uid) }) {
		return nil, fmt.Errorf("process %s is not user %d's alone", pid, uid)
	}
	return limits, nil
}

// statusOf are the four user ids of a process, real, effective, saved and that of files, and how many threads it has.
func statusOf(pid string) (users []string, threads uint64, err error) {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return nil, 0, err
	}
	for line := range strings.Lines(string(status)) {
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "Uid":
			users = strings.Fields(value)
		case "Threads":
			threads, err = strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		}
	}
	const ids = 4
	if len(users) != ids || err != nil {
		return nil, 0, fmt.Errorf("/proc/%s/status does not tell whose it is", pid)
	}
	return users, threads, nil
}

// full reports whether a user has as many processes as there may be, by the limit of this process: then that keeps root from
// starting one more as that user. Else the host, or a control group, has no room.
func full(uid uint32, limits map[string][2]int64) bool {
	var has uint64 // threads, as the kernel counts
	for _, pid := range processes() {
		if users, threads, err := statusOf(strconv.Itoa(pid)); err == nil && users[0] == strconv.FormatUint(uint64(uid), 10) {
			has += threads
		}
	}
	return has >= uint64(limits["nproc"][0]) //nolint:gosec // -1 is the largest, which is none
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
