// Package harness shows how the tests of a scheduler use colloc without a GPU: a fleet
// that pretends stands in for the hardware, and the scheduler's own decisions are
// compared with what colloc would do. The test beside this file is the harness of an
// imaginary scheduler; copy it.
package harness
