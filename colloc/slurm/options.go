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
	// Singleton starts it after all jobs of the same name and user have ended that were
	// submitted before.
	Singleton bool
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
	if on := o.dependency(); on != "" {
		args = append(args, "--dependency="+on)
	}
	if o.Hold {
		args = append(args, "--hold")
	}
	if o.Dir != "" {
		args = append(args, "--chdir="+o.Dir)
	}
	return args
}

// dependency is After and Singleton in Slurm's syntax; empty if there are none.
func (o *SubmitOptions) dependency() string {
	var on []string
	if len(o.After) > 0 {
		after := []string{"afterany"}
		for _, id := range o.After {
			after = append(after, strconv.FormatInt(int64(id), 10))
		}
		on = append(on, strings.Join(after, ":"))
	}
	if o.Singleton {
		on = append(on, "singleton")
	}
	return strings.Join(on, ",")
}
