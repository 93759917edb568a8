// Package supervise runs commands as processes that outlive the program that asked
// for them, each once or not at all.
//
// Between that program and a command stands a supervisor: the program again, which
// [Main] turns into one. It claims the run with a link that can be made once, starts
// the command, waits, ends what the command left behind, and leaves an [Outcome] in
// the folder of the run.
//
// A claim says where the number of its process means something: a host since its
// start, and in a container that container ([Space]). No signal goes to a process
// that cannot be shown to be of the run.
package supervise
