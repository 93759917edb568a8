// Package station is colloc station: the daemon that shares the GPUs of a machine, and
// all that people say to it.
package station
