// Package nvmlx sees GPUs: what devices a host has, what they do right now, and
// what they did in a recording.
//
// [Source] is the seam. The driver implements it (package nvmlx/gonvml), so does
// a recording ([Replay]) and so do fakes in tests; everything above, from the
// [Sampler] to a scheduler, takes a Source and cannot tell them apart. What not
// every source can do stands in small interfaces beside it: [ProcessReader],
// [MIGReader] and [EventReader].
//
// A [Sample] is a profile.Sample, the word that the whole library uses, with the
// device it belongs to and, counter by counter, the reason why one that was
// asked for is missing. Missing is never zero: under MIG, for instance, NVML has
// no utilisation, and the sample says so instead of showing an idle GPU.
//
// # Recordings
//
// [Record] writes everything that is read through it as JSON Lines. The first
// line is the header:
//
//	{"format":"nvmlx-trace","version":1,"system":{...},"devices":[{...},...]}
//
// Each further line is a row that belongs to one device. A row without error,
// processes, mig or event is a sample: at is its time (RFC 3339), window the
// nanoseconds that its averages cover, and each counter has the key and unit of
// profile.Sample (ratios in [0, 1], bytes, watts, joules, MHz, degrees Celsius).
// A key that is absent is missing; missing names the reasons that are known:
//
//	{"device":"GPU-1","at":"2026-03-01T12:00:00Z","gpu_busy":0.93,"mem_used":4294967296,"missing":{"sm_active":"not supported"}}
//	{"device":"GPU-1","processes":[{"pid":4711,"kind":"compute","mem_used":4194304}]}
//	{"device":"GPU-1","error":"device lost"}
//
// Readers ignore keys that they do not know and refuse versions that they do not
// know. A program that appends a column therefore needs no new version; one that
// changes the meaning of a key does.
//
// # Concurrency
//
// A Source is safe for concurrent use by several goroutines; reads of different
// devices do not wait for each other longer than the driver makes them. Close
// waits for calls in progress; calls after Close fail. Slices and maps that a
// Source returns belong to the caller.
//
// # Clocks
//
// Nothing here reads the machine's clock except [SystemClock]. Replay depends
// on nothing but the recording and the order of the calls, so a
// program that is tested against a recording prints the same bytes every time.
// With a [VirtualClock] a [Sampler] plays a day in seconds, every tick in time.
package nvmlx
