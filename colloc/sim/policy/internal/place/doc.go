// Package place finds GPUs for tasks that share with nobody, on what is idle or on
// a cluster that is imagined empty, and preempts tasks for others.
package place
