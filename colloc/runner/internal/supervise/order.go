package supervise

import (
	"fmt"

	"example.com/colloc/profile"
)

// Launch is all that a run needs.
type Launch struct {
	Stem string // of the run's files
	Key  string // of the task
	Dir  string
	// LogLimit is how much room the output may take; 0 or less is without limit.
	LogLimit profile.Bytes
	Path     string
	Argv     []string
	Env      []string
	// Order says as whom the command runs, which then finds its program by itself; nil is
	// this user. Its Dir and Env are those above.
	Order *Order
}

// Order is how a command runs as a user: what must not be said where others can read
// it, or be done as anybody else.
type Order struct {
	UID    uint32              `json:"uid"`
	GID    uint32              `json:"gid"`
	Groups []uint32            `json:"groups"`
	Umask  int                 `json:"umask"`
	Limits map[string][2]int64 `json:"limits"` // soft and hard; -1 is none
	Dir    string              `json:"dir"`
	Env    []string            `json:"env"`
}

// resources are the limits by their names, with their numbers in Linux.
func resources() map[string]int {
	return map[string]int{"cpu": 0, "fsize": 1, "data": 2, "stack": 3, "core": 4, "rss": 5, "nproc": 6, "nofile": 7, "memlock": 8, "as": 9}
}

// CheckLimit is an error if there is no resource of that name, or no such limit.
func CheckLimit(name string, soft, hard int64) error {
	if _, ok := resources()[name]; !ok {
		return fmt.Errorf("there is no limit called %q", name)
	}
	if soft < -1 || hard < -1 || hard >= 0 && (soft < 0 || soft > hard) {
		return fmt.Errorf("limit %s: soft %d and hard %d, want 0 or more, soft at most hard, or -1 for none", name, soft, hard)
	}
	return nil
}

// supervisorName is what a supervisor calls itself. Its arguments are the stem of
// the run's files, the task's own setting of threadsVariable if it has one, its key,
// the room for its output in bytes, the path of the program, and the arguments of that, the name included. Otherwise
// environment, working folder, standard input and output are the task's;
// descriptor 3 takes the process that was started.
const supervisorName = "colloc-supervisor"

// threadsVariable keeps Go's runtime small: a supervisor does one thing at a time.
const threadsVariable = "GOMAXPROCS="

const (
	reportFD = 3
	// What a supervisor returns where the command did not run, as shells do.
	exitNotStarted = 127
	exitTaken      = 125
)
