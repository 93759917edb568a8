package slurm

import (
	"strconv"
	"strings"

	"example.com/colloc/colloc/slurm/site"
)

// SubmitOptions is what a submission says beside the job. The zero value, or
// nil, is the documented default.
type SubmitOptions struct {
	// After are jobs that must have ended, in whatever way, before this one
	// starts.
	After []site.JobID
	// Hold keeps the job from starting until [Client.Release].
	Hold bool
	// Dir is the working directory; empty is the caller's, or "/" through
	// slurmrestd, which does not know the caller's.
	Dir string
}

func (o *SubmitOptions) args() []string {
	if o == nil {
		return nil
	}
	var args []string
	if len(o.After) > 0 {
		args = append(args, "--dependency="+o.dependency())
	}
	if o.Hold {
		args = append(args, "--hold")
	}
	if o.Dir != "" {
		args = append(args, "--chdir="+o.Dir)
	}
	return args
}

// dependency is After in Slurm's syntax; empty if there are none.
func (o *SubmitOptions) dependency() string {
	if len(o.After) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("afterany")
	for _, id := range o.After {
		b.WriteString(":" + strconv.FormatInt(int64(id), 10))
	}
	return b.String()
}
