// Package fakegpu pretends that a host has GPUs: a [nvmlx.Source] made from a
// file, and memory that real processes claim on it. With it a runner, and
// whatever stands on it, is tried where no GPU is.
//
// The file lists the GPUs (JSON, unknown fields are errors):
//
//	{"gpus": [
//	  {"name": "NVIDIA A100-SXM4-40GB"},
//	  {"name": "RTX 3090", "memory": "24GiB", "foreign": "2GiB", "id": "GPU-b", "lost": false}
//	]}
//
// name is a product that [profile.LookupGPU] knows; memory is its memory unless
// given; foreign is in use by a program that belongs to no task; id is
// GPU-fake-0, GPU-fake-1, ... unless given; lost lets the GPU fail. The file is
// read again whenever it changes: GPUs can be lost, or filled, while tasks run.
//
// A process claims memory with [Allocate], on each GPU that CUDA_VISIBLE_DEVICES
// names, if the environment of [Source.Env] reached it. The claim lasts until the
// process gives it back or ends. Like CUDA, Allocate fails when the GPU is full.
package fakegpu
