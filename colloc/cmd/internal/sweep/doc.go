// Package sweep is the command colloc sweep. It runs a training program many times
// on the GPUs of this host: the loop that people write in a shell, done right. It
// watches the first task alone on its GPU for a while, then lets as many share a
// GPU as finish sooner that way, and in the end says what that was worth against
// one after another.
//
//	colloc sweep -n 8 -- python train.py --seed {}
//	colloc sweep -p lr=0.1,0.01 -p seed=0..4 -- python train.py --lr {lr} --seed {seed}
//	colloc sweep -f commands.txt -retries 2 -halt soon,fail=10%
//	colloc sweep -logs sweep-1 -resume
//	colloc sweep -fake-gpus 2xA100-40GB -n 8 -- burn -mem 6GiB -seed {}
//
// The last line needs no GPU: two are made up (a file may say more of each, see package fakegpu), and the command
// burn is colloc burn, which plays a training.
//
// # Tasks
//
// In the words of the command {NAME} stands for a value of -p NAME=..., {} for
// the number of the repeat, 0 to N-1 with -n N, and {#} for the number of the
// task, from 1. There is a task for each combination, of which the first -p
// changes most slowly. {{NAME}}, {{}} and {{#}} are the texts {NAME}, {} and {#};
// other braces, as in JSON, are left alone. Without -shell no shell reads the
// command; with it one does, and values are quoted for it.
//
// A list of values is
//
//	LIST   = VALUE { "," VALUE }
//	VALUE  = RANGE | { character | "\" character | '...' | "..." }
//	RANGE  = NUMBER ".." NUMBER [ ":" STEP | ":x" FACTOR ]
//	NUMBER = [ "+" | "-" ] digits [ "." digits ] [ "e" [ "+" | "-" ] digits ]
//
// as in -p lr=1e-4..1e-1:x10 (0.0001, 0.001, 0.01, 0.1), -p seed=0..4,42 and
// -p 'layers="64,64",128\,128'. Both ends of a range belong to it if they are hit;
// it counts in exact decimals, up or down, by 1 unless told otherwise. '...' is
// taken as it is; in "..." a \ protects " and \; "" is the empty value.
//
// A file of commands (-f) has one on each line, with words quoted as for a shell,
// # for comments, and in front of the command, if wanted,
//
//	@id=prep  @after=ID,ID  @priority=5
//
// A task with @after starts when those have succeeded; with -p and -n it waits
// for their tasks of the same combination. -after NAME lets tasks that differ in
// the parameter NAME only run in its order: -p stage=prep,train -after stage.
//
// # GPUs
//
// Without -gpus those of CUDA_VISIBLE_DEVICES are used, as a batch system sets it,
// or all. A GPU in MIG mode counts as its instances. With -share mps tasks look for
// the MPS daemon where CUDA_MPS_PIPE_DIRECTORY says.
//
// # Where a station runs
//
// If a station runs here that takes this user's tasks (colloc station), it runs them, so
// that a sweep and the jobs of others share one book: in its order, on its GPUs, with its
// ways to share; -profile is its own, a priority above 0 is its class high, or normal for
// those who may not pass all others, one below 0 low. All else looks as always. Ctrl-C holds the tasks that wait there and lets those
// that run end, a second one cancels those; -resume lets them go on. A sweep that is
// killed leaves all of them to the station, and -resume looks on again. One whose station
// is started anew waits for it, up to 10 minutes. Flags that it
// cannot heed, such as -gpus, keep the tasks out of it, and the sweep says so.
//
// # Files
//
// -logs DIR holds the output of each task as TASK.log, the queue, what was
// measured (profile.json, for -known), the numbers that a station gave them
// (station.json), and the job log, joblog.csv, with a row for
// each task that is over; the last row of a task counts:
//
//	number, task           the place in the sweep, from 1, and the name
//	status                 ok, failed or cancelled
//	exit, signal, runs     of the last run; how many runs it took
//	gpu, mechanism         where it ran last (IDs with commas between them) and how it
//	                       shared the GPU
//	started, seconds       when the last run began (RFC 3339) and how long it took
//	steps, step_seconds    how far it came and the time of a step in the end
//	predicted_speed, speed as a fraction of its speed alone: predicted when it was
//	                       placed, and as last measured
//	peak_bytes, reserved_bytes  device memory
//	error, command         why it failed; quoted for a shell
//
// What is not known is empty. -resume goes on with what neither succeeded nor
// failed; -resume-failed with all that did not succeed. Without a command they
// take that of the sweep in the folder, with its flags; flags given again win.
//
// Ctrl-C lets the running tasks end and starts no more; a second one ends them
// (SIGTERM, after ten seconds SIGKILL). A third one ends the sweep at once. If
// that happens, or it is killed, its tasks go on, and -resume takes them over.
//
// # Exit status
//
// 0 if all tasks succeeded, 1 if some did not or the sweep could not go on, 2 if
// something was wrong with the arguments or there is no GPU, 130 if it was
// interrupted. With -dry-run 0 also if tasks fit nowhere: the plan says so.
package sweep
