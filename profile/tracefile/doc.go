// Package tracefile reads the logs of GPU use that people already have into
// [profile.Trace] values: nvidia-smi CSV, -q text and XML, nvidia-smi dmon and pmon, dcgmi
// dmon, Prometheus text exposition and query_range answers (metrics of
// dcgm-exporter, nvidia_gpu_exporter and HAMi), traces of the PyTorch profiler and
// of Nsight Systems, and colloc's own recordings. It imports the standard library
// alone.
//
// [Read] and [ReadFile] recognise the format; [Query] asks a Prometheus server.
// A log often tells of several GPUs, MIG instances, processes or pods: each
// becomes one trace, with labels that say which.
//
// # What becomes of the numbers
//
// Per cent become ratios in [0, 1], MiB become [profile.Bytes], millijoules
// become joules. Every way to say "not known" (-, N/A, [Not Supported], DCGM's
// blank values, NaN) becomes missing, never 0. The energy counter stays a
// counter; where power itself is missing, its growth gives the mean power.
// PCIe traffic is the sum of both directions and missing if one is. A GPU's
// utilisation is dropped for MIG instances, for which drivers report nothing or
// a wrong 0; the ratio of the graphics engine takes its place where it is known.
//
// # Time
//
// Times without a zone are read in Options.Location. Logs without times get
// them from Options.Start and Options.Interval.
package tracefile
