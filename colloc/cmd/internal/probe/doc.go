// Package probe is the command colloc profile: it watches a training alone on a GPU
// for a while and writes what it saw into a task file.
//
//	colloc profile -- python train.py --batch-size 32
//	colloc profile -time 2m -o resnet.json -model config.json -- python train.py
//	colloc profile -pid 4711
//
// It finds a GPU that nobody uses, starts the command there, samples the GPU through
// package nvmlx and the command's CPU use and memory, and reads its steps from its
// output, which passes through, or from the file that COLLOC_PROGRESS names to it. What the task
// is it reads from a specification, a config.json, a summary or a checkpoint that the
// command names or that lies in its folder. -time counts from the first step. Then
// the file is written and the command goes on to its end, unless -stop ends it.
//
// A GPU that is not alone is refused; -shared measures all the same and says so in the
// file. A process that comes later is told at once, and the samples while it was there
// are left out.
//
// Ctrl-C and SIGTERM are passed on to the command, and what was seen by then is
// written. A third Ctrl-C kills the command. With -pid no process is touched. Whoever kills
// colloc profile itself does not end the command: its output then goes on into the folder
// colloc-profile... of the temporary files.
//
// Exit status: that of the command, 128 and the number of the signal if one ended it;
// 0 after -stop and with -pid; 2 for wrong usage, if there is no GPU or it is not alone;
// 1 if the file could not be written.
package probe
