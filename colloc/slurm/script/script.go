package script

import (
	"bytes"
	"fmt"
	"strings"
)

// Job is a batch job: what it asks Slurm for and what it runs.
type Job struct {
	// Request becomes the #SBATCH lines.
	Request Request
	// Body is the bash program after them. What colloc's functions put there is
	// quoted; it is run as it is.
	Body string
}

// NoDevice reports whether a script's output says that no task began, as Slurm started the
// job without its GPUs, or on one that others fill. A slurmctld that restarts may forget
// which shares of GPUs are in use (22.05 does). It is no fault of the tasks.
func NoDevice(output []byte) bool { return bytes.Contains(output, []byte(noDevice)) }

// Text returns the script for sbatch: the interpreter, the header, the body.
// It returns an error that joins every fault of the Request, and for a NUL byte
// in the Body, which bash cannot read.
func (j *Job) Text() (string, error) {
	header, err := j.Request.Header()
	if err != nil {
		return "", err
	}
	if i := strings.IndexByte(j.Body, 0); i >= 0 {
		return "", fmt.Errorf("slurm: job: Body has a NUL byte at offset %d: bash cannot read it", i)
	}
	return "#!/bin/bash\n" + header + j.Body, nil
}
