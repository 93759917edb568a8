// Package measured plays days of trainings that somebody ran on real GPUs.
// It plays the policies that ran there, and what a machine adds to them. So what the
// simulator says can be held against what was measured.
package measured
