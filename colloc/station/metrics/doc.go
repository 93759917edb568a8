// Package metrics shows a station to Prometheus: what waits, how GPUs are shared, and
// what each user had of them. It names users and jobs by number; it never shows commands,
// environments, folders or names of jobs.
package metrics
