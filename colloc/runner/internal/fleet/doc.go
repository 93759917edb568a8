// Package fleet is the GPUs of a runner: what runs on each, what is reserved there and
// used by whom, where a task fits, and how fast tasks were seen to be beside others.
package fleet
