package guest

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/nvmlx"
	"example.com/colloc/predict"
)

// number is the station's number of a job.
func number(id string) int {
	n, _ := strconv.Atoi(id) // the station gives numbers
	return n
}

// class is the priority class of a task.
func class(priority int) string {
	switch {
	case priority > 0:
		return "high"
	case priority < 0:
		return "low"
	}
	return "normal"
}

// happened is what makes a job what it is now out of what it was. Its first run after
// before is no retry.
func happened(name string, before int, old, now *api.Job, gpus []api.GPU, at time.Time) (events []runner.Event) {
	r := record(name, now, gpus)
	add := func(kind runner.EventKind, at time.Time, text string) {
		events = append(events, runner.Event{Kind: kind, At: at, Record: r, GPU: r.GPU, Text: text})
	}
	again := now.Runs > max(1+before, old.Runs) || old.State == runner.Running && now.State == runner.Queued
	if again && old.ID != "" {
		kind := runner.EventRetry
		if now.OutOfMemory > old.OutOfMemory {
			kind = runner.EventRecovering
		} else if now.Stops > old.Stops {
			kind = runner.EventStopped
		}
		add(kind, at, fmt.Sprintf("%s runs again: %s", name, cmp.Or(now.Err, "its last run did not succeed")))
	}
	if !now.Started.IsZero() && !now.Started.Equal(old.Started) {
		add(runner.EventStarted, now.Started, "")
	}
	if now.State.Over() && !old.State.Over() {
		add(runner.EventFinished, now.Ended, "")
	}
	return events
}

// record is a job as a queue of one's own would show it.
func record(name string, j *api.Job, gpus []api.GPU) runner.Record {
	r := runner.Record{
		Task: runner.Task{ID: name, Command: j.Command, Kind: j.Kind, Held: j.Held, GPUs: j.Width}, Number: number(j.ID), State: j.State, Waiting: j.Why,
		Runs: j.Runs, Submitted: j.Submitted, Started: j.Started, Ended: j.Ended, Mechanism: j.Mechanism, Reserved: j.Reserved,
		Speed: j.Speed, Peak: j.Peak, Step: j.Step, Total: j.Total, Exit: j.Exit.Or(-1), Signal: j.Signal, Err: j.Err, Log: j.Log,
	}
	if j.Held && j.State == runner.Queued && r.Waiting == "" {
		r.Waiting = "it is held"
	}
	if v, ok := j.Predicted.Get(); ok {
		r.Predicted = predict.Estimate{Value: v, Lo: 0, Hi: max(1, v), Confidence: 1}
	}
	var on []nvmlx.DeviceID
	for _, index := range j.GPUs {
		if index >= 0 && index < len(gpus) {
			on = append(on, gpus[index].ID)
		}
	}
	if len(on) > 0 {
		r.GPU = on[0]
	}
	if len(on) > 1 {
		r.GPUs = on
	}
	return r
}
