package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"example.com/colloc/profile"
)

// A run has up to five files, with names that begin alike, with what is called its
// stem. Two of them are symbolic links that point nowhere: their target is the
// message. A link is made by one system call, with its content, by one process only,
// and below 60 bytes takes no block of a disk that may be full; a file offers that
// only by renaming and locking.
const (
	// LogEnd is the output, StepsEnd what the command writes to COLLOC_PROGRESS, RestartEnd to COLLOC_RESTART,
	// ClaimEnd a link: who may start the command, a Claim or "revoked".
	LogEnd     = ".log"
	StepsEnd   = ".steps"
	RestartEnd = ".restart"
	ClaimEnd   = ".claim"
	exitEnd    = ".exit" // a link: how it ended, "exit CODE NANOSECONDS", "signal NUMBER NANOSECONDS", both perhaps with bytes of output that are left out, or "error TEXT"

	revoked = "revoked"
)

// Process is one process: its number, and when it began in ticks since boot,
// because numbers are used again.
type Process struct {
	PID   int
	Start uint64
}

func (p Process) String() string { return fmt.Sprintf("%d %d", p.PID, p.Start) }

// parseProcess reads what String writes.
func parseProcess(text string) (p Process, err error) {
	_, err = fmt.Sscanf(text, "%d %d", &p.PID, &p.Start)
	return p, err
}

// Space is where the number of a process means something.
type Space struct {
	// ID is of the host's last start and, in a container, of that container; empty
	// if it is not known.
	ID string
	// Host is the host's name, perhaps its beginning, for people.
	Host string
}

// Claim says who may start the command of a run: a supervisor.
type Claim struct {
	Process

	Space Space
	Key   string // of the task, see [Key]
}

const maxHost = 16 // bytes of its name, so that a link stays short

// String is one word each, what is not known a dash.
func (c Claim) String() string {
	return fmt.Sprintf("%v %s %s %s", c.Process, word(c.Space.ID), word(c.Key), word(ShortHost(c.Space.Host)))
}

// ShortHost is what a claim has of the name of a host.
func ShortHost(host string) string { return host[:min(len(host), maxHost)] }

func word(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// parseClaim reads what String writes, and what was written before claims had a
// space.
func parseClaim(text string) (c Claim, err error) {
	if c.Process, err = parseProcess(text); err != nil {
		return c, err
	}
	const more = 2 // words of the process
	fields := strings.Fields(text)[more:]
	for i, to := range []*string{&c.Space.ID, &c.Key, &c.Space.Host} {
		if i < len(fields) && fields[i] != "-" {
			*to = fields[i]
		}
	}
	return c, nil
}

// claim makes the claim of a run. Of all who try, one succeeds; the others get
// ErrTaken.
func claim(stem, who string) error {
	err := os.Symlink(who, stem+ClaimEnd)
	if errors.Is(err, fs.ErrExist) {
		return ErrTaken
	}
	return err
}

// Revoke makes the claim of a run so that nobody can begin it any more.
func Revoke(stem string) error { return claim(stem, revoked) }

// ReadClaim returns who made the claim; false if nobody did or it was revoked.
func ReadClaim(stem string) (Claim, bool, error) {
	text, err := os.Readlink(stem + ClaimEnd)
	if errors.Is(err, fs.ErrNotExist) || err == nil && text == revoked {
		return Claim{}, false, nil
	}
	if err != nil {
		return Claim{}, false, err
	}
	c, err := parseClaim(text)
	if err != nil {
		return Claim{}, false, fmt.Errorf("%s%s points to %q, want a process or %q", stem, ClaimEnd, text, revoked)
	}
	return c, true, nil
}

// Outcome is how a run ended.
type Outcome struct {
	Exit   int    // -1 if it had no exit code
	Signal int    // 0 if no signal ended it
	Err    string // why it could not be started, or how it got lost
	Lost   bool   // nobody knows how it ended
	Final  bool   // to try again would not help
	// Crowded means that the command did not begin, for want of room for another process; Err has more.
	Crowded bool
	Took    time.Duration // from its start, by a clock that nobody sets; 0 if it is not known
	// Dropped is what was left out of its output because that became too long.
	Dropped profile.Bytes
}

// OK reports whether the command succeeded.
func (o *Outcome) OK() bool { return o.Exit == 0 && o.Signal == 0 && o.Err == "" }

// Killed reports whether SIGKILL ended the run, or the last process of its shell.
func (o *Outcome) Killed() bool {
	const shell = 128
	return o.Signal == int(syscall.SIGKILL) || o.Exit == shell+int(syscall.SIGKILL)
}

// String says how the run ended, for people.
func (o *Outcome) String() string {
	switch {
	case o.Err != "":
		return o.Err
	case o.Signal != 0:
		return fmt.Sprintf("ended by signal %d (%s)", o.Signal, signalName(o.Signal))
	default:
		return fmt.Sprintf("exit code %d", o.Exit)
	}
}

// maxExitText keeps the target of the link below the limit of file systems.
const maxExitText = 512

// writeExit leaves the outcome of a run. The first one stays.
func writeExit(stem string, o Outcome) error {
	var text string
	switch {
	case o.Err != "":
		text = "error "
		if o.Crowded {
			text = "crowded "
		}
		text += o.Err
		text = strings.ToValidUTF8(text[:min(len(text), maxExitText)], "")
	case o.Signal != 0:
		text = fmt.Sprintf("signal %d %d", o.Signal, o.Took)
	default:
		text = fmt.Sprintf("exit %d %d", o.Exit, o.Took)
	}
	if o.Dropped > 0 && o.Err == "" {
		text += fmt.Sprintf(" %d", o.Dropped)
	}
	return os.Symlink(text, stem+exitEnd)
}

// ReadExit returns the outcome of a run; false if there is none yet.
func ReadExit(stem string) (Outcome, bool) {
	text, err := os.Readlink(stem + exitEnd)
	if err != nil {
		return Outcome{}, false
	}
	var o Outcome
	kind, rest, _ := strings.Cut(text, " ")
	switch kind {
	case "exit":
		_, err = fmt.Sscan(rest, &o.Exit)
	case "signal":
		o.Exit = -1
		_, err = fmt.Sscan(rest, &o.Signal)
	default:
		o.Exit, o.Err, o.Crowded = -1, rest, kind == "crowded"
	}
	if err != nil {
		o.Exit, o.Err = -1, "unreadable exit record "+text
	}
	if _, took, ok := strings.Cut(rest, " "); ok && o.Err == "" {
		n, _ := fmt.Sscan(took, (*int64)(&o.Took), (*int64)(&o.Dropped)) // the second is there if it is not 0
		if n == 0 || o.Took < 0 {
			o.Took = 0
		}
		o.Dropped = max(0, o.Dropped)
	}
	return o, true
}

// Forget removes what only a runner needs of a run that is over; its output stays.
func Forget(stem string) {
	for _, end := range []string{ClaimEnd, exitEnd, StepsEnd, RestartEnd} {
		_ = os.Remove(stem + end) // what is left takes a little room
	}
}

// ProgressVariable names the file for a task's steps in its environment. It is
// another one for each run, and so the mark of the run's processes.
const ProgressVariable = "COLLOC_PROGRESS"

// Mark is what the environments of a run's processes hold.
func Mark(stem string) string { return ProgressVariable + "=" + stem + StepsEnd }
