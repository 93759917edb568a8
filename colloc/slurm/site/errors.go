package site

import (
	"errors"
	"fmt"
	"strings"
)

// What callers tell apart with errors.Is, beside [ErrPartition] and
// [ErrImpossible]. Every [Error] is one of them.
var (
	// ErrNoCluster means that no cluster answers: the commands are not
	// installed, they find no configuration, or the controller is down. It can
	// pass: a controller that restarts looks like this.
	ErrNoCluster = errors.New("no cluster")
	// ErrPermission means that the cluster answers, but not to this user.
	ErrPermission = errors.New("no permission")
	// ErrNoJob means that the cluster does not know the job, or has forgotten
	// it: after MinJobAge, five minutes by default, only accounting knows it.
	ErrNoJob = errors.New("unknown job")
	// ErrNoAccounting means that the site keeps no accounts.
	ErrNoAccounting = errors.New("no accounting")
	// ErrOutput means that what Slurm printed could not be understood.
	ErrOutput = errors.New("cannot read the output")
	// ErrRefused means anything else that Slurm refuses; the text says what.
	ErrRefused = errors.New("refused")
)

// Error is a call of Slurm that failed: which, why, and what Slurm said.
type Error struct {
	// Kind is ErrNoCluster, ErrPermission, [ErrPartition], [ErrImpossible],
	// ErrNoJob, ErrNoAccounting, ErrOutput or ErrRefused.
	Kind error
	// Command is the program with its arguments, or the request to slurmrestd.
	// Scripts and tokens are not part of it.
	Command string
	// Said is Slurm's own text, without the names of its programs; at most
	// 1,000 bytes.
	Said string
	// Code is the exit status or HTTP status; -1 if there was none.
	Code int

	// Cause is what lies below, such as a context that ended; it may be nil.
	Cause error
}

// Error names the command, the kind of failure and what Slurm said.
func (e *Error) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("slurm: %s: %v (status %d)", e.Command, e.Kind, e.Code)
	}
	return fmt.Sprintf("slurm: %s: %v: %s", e.Command, e.Kind, e.Said)
}

// Unwrap makes errors.Is answer for the Kind and for what lies below, such as
// a context that ended.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// symptom ties a phrase of Slurm's to a kind of failure. The phrases are those
// of slurm_strerror and of the commands; they have not changed from 22.05 to
// 25.05. The first that occurs decides.
type symptom struct {
	phrase string
	kind   error
}

func symptoms() []symptom {
	return []symptom{
		{"unable to contact slurm", ErrNoCluster},
		{"connection refused", ErrNoCluster},
		{"unable to establish configuration", ErrNoCluster},
		{"could not establish a configuration", ErrNoCluster},
		{"unable to process configuration", ErrNoCluster},
		{"failed to fetch config", ErrNoCluster},
		{"unable to establish control connection", ErrNoCluster},
		{"slurm backup controller in standby", ErrNoCluster},
		{"zero bytes were transmitted", ErrNoCluster},
		{"socket timed out", ErrNoCluster},
		{"failed while looking for", ErrNoCluster},
		{"accounting storage is disabled", ErrNoAccounting},
		{"accounting_storage", ErrNoAccounting},
		{"invalid partition", ErrPartition},
		{"access/permission denied", ErrPermission},
		{"access denied", ErrPermission},
		{"permission denied", ErrPermission},
		{"invalid user id", ErrPermission},
		{"user's group not permitted", ErrPermission},
		{"invalid account or account/partition", ErrPermission},
		{"invalid qos", ErrPermission},
		{"reservation is invalid", ErrPermission},
		{"authentication", ErrPermission},
		{"protocol authentication error", ErrPermission},
		{"unauthorized", ErrPermission},
		{"invalid job id", ErrNoJob},
		{"node configuration is not available", ErrImpossible},
		{"specification can not be satisfied", ErrImpossible},
		{"invalid generic resource", ErrImpossible},
		{"invalid gres", ErrImpossible},
		{"invalid trackable resource", ErrImpossible},
		{"invalid feature specification", ErrImpossible},
		{"invalid node name", ErrImpossible},
		{"node count specification invalid", ErrImpossible},
		{"more processors requested than permitted", ErrImpossible},
		{"time limit is invalid", ErrImpossible},
		{"violates partition", ErrImpossible},
	}
}

// KindOf classifies what Slurm said; ErrRefused if no phrase is known.
func KindOf(said string) error {
	lower := strings.ToLower(said)
	for _, s := range symptoms() {
		if strings.Contains(lower, s.phrase) {
			return s.kind
		}
	}
	return ErrRefused
}

// Unreadable makes the Error of an output that cannot be understood.
func Unreadable(command string, err error) *Error {
	return &Error{Kind: ErrOutput, Command: command, Said: Clip(err.Error()), Code: -1, Cause: err}
}

// Clean strips what Slurm's programs put in front of each line and joins the
// lines.
func Clean(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if program, rest, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(program, "s") && !strings.Contains(program, " ") {
			line = rest
		}
		line = strings.TrimPrefix(strings.TrimPrefix(line, "error: "), "fatal: ")
		if line != "" {
			lines = append(lines, line)
		}
	}
	return Clip(strings.Join(lines, "; "))
}

// Clip keeps messages short and valid UTF-8.
func Clip(s string) string {
	const most = 1000
	if len(s) > most {
		s = s[:most-3] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
