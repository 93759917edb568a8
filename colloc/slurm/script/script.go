package script

import (
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
