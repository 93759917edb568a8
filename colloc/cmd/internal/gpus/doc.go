// Package gpus finds the GPUs of this host for a command: the driver's, or fake ones
// from a file.
package gpus
