package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// A run has up to four files, with names that begin alike. Two of them are
// symbolic links that point nowhere: their target is the message. A link is made
// by one system call, with its content, by one process only, and takes no block
// of a disk that may be full; a file offers that only by renaming and locking.
const (
	logEnd   = ".log"   // the output
	claimEnd = ".claim" // a link: who may start the command, "PID START" or "revoked"
	exitEnd  = ".exit"  // a link: how it ended, "exit CODE", "signal NUMBER" or "error TEXT"
	stepsEnd = ".steps" // what the task writes to COLLOC_PROGRESS

	revoked = "revoked"
)

// process is one process: its number, and when it began in ticks since boot,
// because numbers are used again.
type process struct {
	pid   int
	start uint64
}

func (p process) String() string { return fmt.Sprintf("%d %d", p.pid, p.start) }

// parseProcess reads what String writes.
func parseProcess(text string) (process, error) {
	var p process
	_, err := fmt.Sscanf(text, "%d %d", &p.pid, &p.start)
	return p, err
}

// errTaken means that the claim was made before.
var errTaken = errors.New("the run is claimed already")

// claim makes the claim of a run; who is a process or revoked. Of all who try,
// one succeeds.
func claim(stem, who string) error {
	err := os.Symlink(who, stem+claimEnd)
	if errors.Is(err, fs.ErrExist) {
		return errTaken
	}
	return err
}

// claimant returns who made the claim; false if nobody did or it was revoked.
func claimant(stem string) (process, bool, error) {
	text, err := os.Readlink(stem + claimEnd)
	if errors.Is(err, fs.ErrNotExist) || err == nil && text == revoked {
		return process{}, false, nil
	}
	if err != nil {
		return process{}, false, err
	}
	p, err := parseProcess(text)
	if err != nil {
		return process{}, false, fmt.Errorf("%s%s points to %q, want a process or %q", stem, claimEnd, text, revoked)
	}
	return p, true, nil
}

// outcome is how a run ended.
type outcome struct {
	exit   int       // -1 if it had no exit code
	signal int       // 0 if no signal ended it
	err    string    // why it could not be started, or how it got lost
	lost   bool      // nobody knows how it ended
	final  bool      // to try again would not help
	at     time.Time // when, if the record tells
}

func (o *outcome) ok() bool { return o.exit == 0 && o.signal == 0 && o.err == "" }

// killed reports whether SIGKILL ended the run, or the last process of its shell.
func (o *outcome) killed() bool {
	const shell = 128
	return o.signal == int(syscall.SIGKILL) || o.exit == shell+int(syscall.SIGKILL)
}

// String says how the run ended, for people.
func (o *outcome) String() string {
	switch {
	case o.err != "":
		return o.err
	case o.signal != 0:
		return fmt.Sprintf("ended by signal %d (%s)", o.signal, signalName(o.signal))
	default:
		return fmt.Sprintf("exit code %d", o.exit)
	}
}

// maxExitText keeps the target of the link below the limit of file systems.
const maxExitText = 512

// writeExit leaves the outcome of a run. The first one stays.
func writeExit(stem string, o outcome) error {
	var text string
	switch {
	case o.err != "":
		text = "error " + o.err
		text = strings.ToValidUTF8(text[:min(len(text), maxExitText)], "")
	case o.signal != 0:
		text = fmt.Sprintf("signal %d", o.signal)
	default:
		text = fmt.Sprintf("exit %d", o.exit)
	}
	return os.Symlink(text, stem+exitEnd)
}

// readExit returns the outcome of a run; false if there is none yet.
func readExit(stem string) (outcome, bool) {
	path := stem + exitEnd
	text, err := os.Readlink(path)
	if err != nil {
		return outcome{}, false
	}
	var o outcome
	if info, err := os.Lstat(path); err == nil {
		o.at = info.ModTime()
	}
	kind, rest, _ := strings.Cut(text, " ")
	switch kind {
	case "exit":
		_, err = fmt.Sscan(rest, &o.exit)
	case "signal":
		o.exit = -1
		_, err = fmt.Sscan(rest, &o.signal)
	default:
		o.exit, o.err = -1, rest
	}
	if err != nil {
		o.exit, o.err = -1, "unreadable exit record "+text
	}
	return o, true
}
