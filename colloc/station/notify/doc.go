// Package notify tells people what becomes of jobs, by a command or by a webhook. It never
// holds up who tells it something: what is too much is dropped and counted.
package notify
