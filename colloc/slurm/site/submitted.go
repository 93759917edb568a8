package site

import (
	"encoding/json"
	"net/http"
	"strings"
)

// heldJob is what slurmrestd of 22.05 reports beside the number of a job that
// was submitted with a hold: it is no failure.
const heldJob = 2042

// ParseSubmitted reads what slurmrestd answers to POST job/submit: the job's
// number. Errors are those of [ParseJobs].
func ParseSubmitted(data []byte) (JobID, error) {
	var answer struct {
		envelope
		ID     number `json:"job_id"`
		Result struct {
			ID number `json:"job_id"`
		} `json:"result"`
	}
	if err := decode(data, &answer); err != nil {
		return 0, Unreadable("", err)
	}
	id := max(answer.ID.int64(), answer.Result.ID.int64())
	said := answer.said()
	for _, e := range answer.Errors {
		if e.code() == heldJob && id > 0 {
			said = ""
		}
	}
	switch {
	case said != "":
		return 0, &Error{Kind: KindOf(said), Said: said, Code: http.StatusOK}
	case id <= 0:
		return 0, Unreadable("", errMissing("job_id"))
	default:
		return JobID(id), nil
	}
}

// ParseFailure returns what slurmrestd says in an answer that is no success: its
// own errors, or the answer itself where it reports none.
func ParseFailure(data []byte) string {
	var e envelope
	if json.Unmarshal(data, &e) == nil && e.said() != "" {
		return e.said()
	}
	return Clip(strings.TrimSpace(string(data)))
}
