// Package guest runs tasks in the queue of a station, and shows them as a queue of one's
// own: what [runner.Runner] is to a sweep, a [Queue] is where a station runs.
package guest
