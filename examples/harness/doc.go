// Package harness shows how the tests of a scheduler use colloc without a GPU:
// a recording stands in for the hardware, the tasks seen in it become profiles,
// and the scheduler's own decision is compared with what colloc would do. The
// test beside this file is the harness of an imaginary scheduler; copy it.
//
// The recording in testdata was written by hand: two RTX 3090, each with one
// task alone. colloc gpuinfo -record FILE makes real ones.
package harness
