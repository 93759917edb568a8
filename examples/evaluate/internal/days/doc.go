// Package days evaluates the simulator on days that ran on real GPUs.
package days
