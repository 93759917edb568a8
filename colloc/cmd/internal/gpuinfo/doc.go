// Package gpuinfo is the command colloc gpuinfo: it shows the GPUs of this host, or of a recording: what they are,
// how they are cut, who uses them, what they do second by second, and in the end,
// for each GPU, what holds it back and whether more tasks like the present ones
// would fit.
//
//	go run ./colloc/cmd/colloc gpuinfo                        # until interrupted
//	go run ./colloc/cmd/colloc gpuinfo -n 60 -record gpu.jsonl
//	go run ./colloc/cmd/colloc gpuinfo -replay gpu.jsonl      # needs no GPU
//	go run ./colloc/cmd/colloc gpuinfo -replay gpu.jsonl -json
//	go run ./colloc/cmd/colloc gpuinfo -context               # what a bare CUDA context costs here
//
// On Linux the driver's binding is compiled with cgo, whose warnings
// CGO_CFLAGS="-O2 -g -Wno-deprecated-declarations" silences; with CGO_ENABLED=0
// the program replays recordings only.
//
// Exit status: 0, 1 if reading failed or every GPU was lost, 2 if an argument or
// a file was wrong or there is no driver.
package gpuinfo
