package station

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"example.com/colloc/colloc/runner"
)

// why says what a job waits for; live, that it is asked anew.
func (v *viewer) why(r *runner.Record, live bool) string {
	why := r.Waiting
	if live {
		why = cmp.Or(v.s.runner.Why(r.Task.ID), why)
	}
	switch {
	case r.Task.Held:
		return "it is held, until somebody releases it"
	case v.drains:
		return "the station drains: nothing starts any more"
	case why == "" && len(r.Task.After) > 0:
		return "for other jobs to end, or for its turn"
	}
	closed := v.closed(uidOf(r))
	switch {
	case len(closed) > 0 && len(closed) == len(v.gpus):
		return strings.Join(closed, "; ")
	case why == "":
		return "for its turn"
	}
	return strings.Join(append([]string{why}, closed...), "; ")
}

// closed says how GPUs are closed to a user, in their order.
func (v *viewer) closed(uid uint32) (texts []string) {
	if texts, known := v.shut[uid]; known {
		return texts
	}
	for i := range v.gpus {
		c := v.s.turns.Closed(v.gpus[i].Device.ID)
		switch {
		case c == nil || c.Reserved && c.UID == uid:
		case c.Reserved:
			layout := time.DateTime
			if v.now.Local().Format(time.DateOnly) == c.Until.Local().Format(time.DateOnly) {
				layout = "15:04"
			}
			texts = append(texts, fmt.Sprintf("GPU %d is reserved for %s until %s", i, v.s.names.Of(c.UID), c.Until.Local().Format(layout)))
		default:
			texts = append(texts, fmt.Sprintf("GPU %d is drained", i))
		}
	}
	v.shut[uid] = texts
	return texts
}
