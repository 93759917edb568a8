// Package request is the frame of policies that go by what tasks ask for, as
// Kubernetes does: cores, host memory, whole GPUs or parts of one.
package request
