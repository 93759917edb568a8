package script

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// Request is what a batch job asks Slurm for. A zero field is not asked for:
// then the site's default holds.
//
// What stands in the header cannot be quoted the way that a shell quotes, so
// that no text field may hold blanks, quotes, backslashes, control characters,
// or anything beyond printable ASCII.
type Request struct {
	// Name is the job's name, --job-name.
	Name string `json:"name,omitempty"`
	// Account, Partition, QOS and Reservation say where and on whose budget.
	Account     string `json:"account,omitempty"`
	Partition   string `json:"partition,omitempty"`
	QOS         string `json:"qos,omitempty"`
	Reservation string `json:"reservation,omitempty"`
	// Constraint are the features that every node must have, in Slurm's
	// syntax: "a100&nvlink".
	Constraint string `json:"constraint,omitempty"`
	// Licenses are those that the job uses, in Slurm's syntax: "matlab:2,cst".
	Licenses string `json:"licenses,omitempty"`
	// NodeList are the nodes that must be part of the job: "g1" or "g[1-4]".
	NodeList string `json:"node_list,omitempty"`
	// Nodes is the number of nodes, TasksPerNode the number of processes that
	// srun starts on each, CPUsPerTask what each of those gets.
	Nodes        int `json:"nodes,omitempty"`
	TasksPerNode int `json:"tasks_per_node,omitempty"`
	CPUsPerTask  int `json:"cpus_per_task,omitempty"`
	// Memory is host memory on each node, rounded up to whole MiB.
	Memory profile.Bytes `json:"memory_bytes,omitempty"`
	// Gres are the GPUs, or shares of GPUs, on each node.
	Gres []site.Gres `json:"gres,omitempty"`
	// Time is the limit, rounded up to whole seconds; Slurm itself counts in
	// minutes.
	Time time.Duration `json:"time_ns,omitempty"`
	// Warn asks for Signal this long before Time is over, sent to the script alone,
	// which passes it on to its tasks. Slurm may be a minute early. Where the site
	// has PreemptParameters=send_user_signal, it comes before a preemption, too. 0 is
	// no signal, or a minute if Signal is set.
	Warn time.Duration `json:"warn_ns,omitempty"`
	// Signal is which one; empty is USR1. It is one of [Signals].
	Signal string `json:"signal,omitempty"`
	// Output is the file for what the script itself prints; Slurm replaces
	// patterns such as %j.
	Output string `json:"output,omitempty"`
	// Requeue lets Slurm start the job anew after preemption or a node failure. Tasks
	// that ended well by then do not run again, and logs are added to.
	Requeue bool `json:"requeue,omitempty"`
	// Comment is free text within the rules above; accounting can keep it.
	Comment string `json:"comment,omitempty"`
}

// option is one line of a header.
type option struct{ name, value string }

// Header returns the #SBATCH lines, each with its newline, always in the same
// order. It returns an error that joins every fault and names its field.
func (r *Request) Header() (string, error) {
	options, err := r.options()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, o := range options {
		b.WriteString("#SBATCH --" + o.name)
		if o.value != "" {
			b.WriteString("=" + o.value)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// Args returns the same as arguments of sbatch and srun, which need no shell.
func (r *Request) Args() ([]string, error) {
	options, err := r.options()
	if err != nil {
		return nil, err
	}
	args := make([]string, len(options))
	for i, o := range options {
		args[i] = "--" + o.name
		if o.value != "" {
			args[i] += "=" + o.value
		}
	}
	return args, nil
}

func (r *Request) options() ([]option, error) {
	errs := r.checkNumbers()
	var list []option
	add := func(name, field, value string) {
		switch err := plain(value); {
		case value == "":
		case err != nil:
			errs = append(errs, fmt.Errorf("slurm: request: %s is %q: %w", field, value, err))
		default:
			list = append(list, option{name, value})
		}
	}
	add("job-name", "Name", r.Name)
	add("account", "Account", r.Account)
	add("partition", "Partition", r.Partition)
	add("qos", "QOS", r.QOS)
	add("reservation", "Reservation", r.Reservation)
	add("constraint", "Constraint", r.Constraint)
	add("licenses", "Licenses", r.Licenses)
	add("nodelist", "NodeList", r.NodeList)
	add("nodes", "Nodes", count(r.Nodes))
	add("ntasks-per-node", "TasksPerNode", count(r.TasksPerNode))
	add("cpus-per-task", "CPUsPerTask", count(r.CPUsPerTask))
	add("mem", "Memory", megabytes(r.Memory))
	gres, err := gresList(r.Gres)
	if err != nil {
		errs = append(errs, err)
	} else if gres != "" {
		list = append(list, option{"gres", gres})
	}
	add("time", "Time", clock(r.Time))
	if warn := r.warn(); warn > 0 {
		list = append(list, option{"signal", "B:" + r.signal() + "@" + strconv.FormatInt(seconds(warn), 10)})
	}
	add("output", "Output", r.Output)
	if r.Requeue {
		list = append(list, option{"requeue", ""}, option{"open-mode", "append"}) // what the first run said counts, too
	}
	add("comment", "Comment", r.Comment)
	return list, errors.Join(errs...)
}

// maxCount bounds what is counted, so that sums and products cannot overflow.
const maxCount = 1 << 24

func (r *Request) checkNumbers() []error {
	var errs []error
	for _, n := range []struct {
		field string
		value int
	}{{"Nodes", r.Nodes}, {"TasksPerNode", r.TasksPerNode}, {"CPUsPerTask", r.CPUsPerTask}} {
		if n.value < 0 || n.value > maxCount {
			errs = append(errs, fmt.Errorf("slurm: request: %s is %d, want 1 to %d, or 0 for the site's default", n.field, n.value, maxCount))
		}
	}
	if r.Memory < 0 {
		errs = append(errs, fmt.Errorf("slurm: request: Memory is %d bytes, want 0 or more", int64(r.Memory)))
	}
	if r.Time < 0 {
		errs = append(errs, fmt.Errorf("slurm: request: Time is %v, want 0 or more", r.Time))
	}
	if r.Warn < 0 || seconds(r.Warn) > math.MaxUint16 {
		errs = append(errs, fmt.Errorf("slurm: request: Warn is %v, want at most %d s, or 0 for no signal", r.Warn, math.MaxUint16))
	}
	if r.warn() > 0 && r.Time > 0 && r.warn() >= r.Time {
		errs = append(errs, fmt.Errorf("slurm: request: Warn is %v, which is no less than Time, %v", r.warn(), r.Time))
	}
	if r.Signal != "" && !slices.Contains(Signals(), r.Signal) {
		errs = append(errs, fmt.Errorf("slurm: request: Signal is %q, want one of %s: no other can be passed on to tasks", r.Signal, strings.Join(Signals(), ", ")))
	}
	return errs
}

// Signals are those that can warn a job: Slurm knows them by name, and a program can
// catch them. CONT is none, as Slurm itself sends it before TERM. After TERM and INT the
// script ends with its tasks, after the others it goes on.
func Signals() []string {
	return []string{"USR1", "USR2", "HUP", "INT", "QUIT", "ABRT", "ALRM", "TERM", "URG"}
}

// signal is Signal or its default.
func (r *Request) signal() string { return cmp.Or(r.Signal, "USR1") }

// warn is Warn, or Slurm's own default where a Signal alone is asked for.
func (r *Request) warn() time.Duration {
	if r.Signal != "" && r.Warn == 0 {
		return time.Minute
	}
	return r.Warn
}

func gresList(list []site.Gres) (string, error) {
	var errs []error
	text := make([]string, len(list))
	for i, g := range list {
		text[i] = g.String()
		if g.Count < 1 || g.Count > maxCount || !g.Plain() {
			errs = append(errs, fmt.Errorf("slurm: request: Gres[%d] is %q, want name:count or name:type:count", i, text[i]))
		}
	}
	return strings.Join(text, ","), errors.Join(errs...)
}

// plain tells why a text cannot stand in a header.
func plain(s string) error {
	for _, c := range s {
		if c <= ' ' || c > '~' || strings.ContainsRune("\"'`\\#$", c) {
			return fmt.Errorf("%q cannot stand in an #SBATCH line; use letters, digits and plain punctuation", c)
		}
	}
	return nil
}

func count(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// megabytes is how Slurm's options state memory, rounded up, so that nothing asks for
// less than it needs.
func megabytes(b profile.Bytes) string {
	if b <= 0 {
		return ""
	}
	return strconv.FormatInt(int64((b-1)/profile.MiB)+1, 10) + "M"
}

func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}

// clock writes days-hours:minutes:seconds.
func clock(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	s := seconds(d)
	text := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if days := s / 86400; days > 0 {
		text = fmt.Sprintf("%d-%s", days, text)
	}
	return text
}
