package station

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/notify"
	"example.com/colloc/internal/regular"
	"example.com/colloc/profile"
)

// appendTo opens a job's output to add to it.
func appendTo(r *runner.Record) (*os.File, error) {
	return regular.OpenOf(uidOf(r), r.Log, os.O_WRONLY|os.O_APPEND, 0)
}

// tellStopped says at the end of a job's output for whom it is stopped.
func (s *Station) tellStopped(r *runner.Record) error {
	file, err := appendTo(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "\ncolloc: this job is %s: it gets SIGTERM, and SIGKILL after %v. It waits again, and goes on from what it saved.\n", r.Stopped, cmp.Or(s.config.Grace, runner.DefaultGrace))
	return errors.Join(err, file.Close())
}

// tellInLog says at the end of a job's output that it used more than was reserved for it,
// and what to do about that: there its user looks first.
func (s *Station) tellInLog(r *runner.Record) error {
	peak := r.Peak.Or(0)
	next := "it goes on"
	switch {
	case r.State == runner.Queued:
		next = "it was stopped before others ran short, and runs again with a larger reservation"
	case !s.config.LetOverrun:
		next = "it is stopped should others run short because of that"
	}
	file, err := appendTo(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "\ncolloc: this job uses %v of GPU memory, and %v are reserved for it: %s. Submit it with -mem %s, or with -share no.\n",
		peak, r.Reserved, next, strings.ReplaceAll(enough(peak).String(), " ", ""))
	return errors.Join(err, file.Close())
}

// enough is what to reserve for a job that was seen to use so much, in whole GiB.
func enough(peak profile.Bytes) profile.Bytes {
	with := profile.BytesOf((1 + colloc.MeasuredMargin) * float64(peak))
	return (with + profile.GiB - 1) / profile.GiB * profile.GiB
}

// tell tells people what they asked to be told: how jobs end, that memory ran out, and
// what becomes of GPUs. What a job runs and prints is nobody else's business and is not in
// it.
func (s *Station) tell(e *runner.Event) {
	if s.config.Notify == nil {
		return
	}
	r := &e.Record
	m := notify.Message{At: e.At}
	if r.Task.ID != "" {
		m.Job, m.Name, m.User, m.State = r.Task.ID, r.Task.Name, s.names.Of(uidOf(r)), r.State.String()
	}
	title := "job " + m.Job
	if m.Name != "" {
		title += " (" + m.Name + ")"
	}
	title += " of " + m.User
	switch e.Kind {
	case runner.EventFinished:
		m.Kind, m.Text = r.State.String(), title+" "+r.State.String()
		if !r.Started.IsZero() {
			m.Text += fmt.Sprintf(" after %v", r.Ended.Sub(r.Started).Round(1e9))
		}
		if r.Err != "" {
			m.Text += ": " + cause(r)
		}
	case runner.EventRecovering:
		m.Kind, m.Text = "out-of-memory", title+" ran out of GPU memory and runs again"
	case runner.EventOverrun:
		m.Kind, m.Text = "overrun", title+" uses more GPU memory than was reserved for it"
	case runner.EventLost:
		m.Kind, m.Text = "gpu-lost", fmt.Sprintf("GPU %s does not answer any more", e.GPU)
	case runner.EventFound:
		m.Kind, m.Text = "gpu-found", fmt.Sprintf("GPU %s answers again", e.GPU)
	default:
		return
	}
	s.config.Notify(m)
}

// cause is why a job did not succeed, as its record says it, without what the job runs,
// where, and what it printed.
func cause(r *runner.Record) string {
	for _, private := range []string{"out of memory, alone on a GPU", "the command does not start"} {
		if strings.HasPrefix(r.Err, private+": ") {
			return private
		}
	}
	return strings.ReplaceAll(r.Err, "the disk of "+r.Task.Dir+" ", "the disk of its folder ")
}
