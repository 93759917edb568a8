// Package profiler reads the traces of profilers, kernel by kernel: those of the PyTorch
// profiler (Kineto) and of Nsight Systems (nsys).
package profiler
