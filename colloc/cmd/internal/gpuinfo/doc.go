// Package gpuinfo is the command colloc gpuinfo. It shows the GPUs of this host, or
// of a recording: what they are, how they are cut, who uses them, what they do
// second by second, and in the end, for each GPU, what holds it back and whether
// more tasks like the present ones would fit.
//
//	colloc gpuinfo                        # until interrupted
//	colloc gpuinfo -n 60 -record gpu.jsonl
//	colloc gpuinfo -replay gpu.jsonl      # needs no GPU
//	colloc gpuinfo -replay gpu.jsonl -json
//	colloc gpuinfo -context               # what a bare CUDA context costs here
//
// Built with CGO_ENABLED=0 it replays recordings only.
//
// Exit status: 0, 1 if reading failed or every GPU was lost, 2 if an argument or
// a file was wrong or there is no driver.
package gpuinfo
