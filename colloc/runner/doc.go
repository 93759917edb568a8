// Package runner runs training tasks as processes on the GPUs of this host,
// several on one GPU where colloc predicts that this helps.
//
//	func main() {
//		runner.Supervise() // first of all, see below
//		r, err := runner.Open(runner.Config{Dir: "sweep", Source: gpus})
//		...
//		err = r.Submit(tasks...)
//		err = r.Run(ctx)
//	}
//
// # Queue
//
// [Runner.Submit] writes tasks to a queue file (bbolt) in [Config].Dir; every
// change of a task is one transaction, done before the change has an effect.
// The process may die at any moment, by kill -9 too: the next [Open] of the same
// folder goes on. By default nothing waits for the disk: what a killed process
// wrote is in the kernel's hands and safe. [Config].Sync makes transactions
// survive a power cut as well.
//
// # Tasks
//
// A task is a command, started without a shell, in a session of its own, with
// its output in a file, so that it outlives the runner. Between the two stands a
// supervisor: this program again, which [Supervise] turns into one. It claims the
// run, starts the command, waits, and leaves the exit status in the folder of the
// run. The runner records a run before it starts a supervisor, and a supervisor
// starts the command only after it made the claim, a link that can be made once.
// A new runner that finds a run without claim makes the claim itself and queues
// the task again. So each run takes place once or not at all:
//
//	runner dies                 the task goes on and is adopted
//	before the claim            the task is queued again; it has not started
//	supervisor dies             the kernel kills the task; it is queued again
//	host restarts               what ran is queued again
//	another host opens it       refused, unless [Config].Gone names the first
//	queue file is damaged       what is submitted again and still runs is taken over
//
// A run that was lost is run again at most three times, whatever [Task].Retries is.
// A task is over when its command ends; what descends from it is killed then, in
// whatever session it is, by the kernel where control groups (version 2) are delegated
// to the user. No signal goes to a process that cannot be shown to be of
// the run: claims say on which host, since which start of it, their numbers hold.
//
// # Placement
//
// Package dispatch decides what starts, where and beside whom, by the predictions of a
// [colloc.Planner]; the runner tells it what happens, and carries out what it says. Tasks of a higher
// priority go first. Among equal ones it looks ahead: a task may wait for a better place, and
// short ones may pass, but none is passed for ever. [ledger.Ledger] compares what is reserved with
// what is used: memory that other programs use, as the [nvmlx.Source] sees it, counts, and so does what
// other runners of the user have reserved ([Config].Shared). A task of several GPUs gets all of
// them, of one product, or waits.
//
// What is reserved for a task follows what it is seen to use, see [Config].Steady: once its
// peak has stood for two minutes, that and 5 % for growth are set aside instead of what
// was predicted. When it grows later its reservation does too, while there is room beside
// its neighbours; else it is told of, and stopped before they lack memory ([Config].Overrun).
//
// A task that runs out of GPU memory, as its output or a crash on a full GPU
// shows, is queued again: with a larger reservation, then under another
// mechanism, then alone on a GPU. One that the kernel killed for want of the
// host's memory runs again alone. Peaks, failures and measured speeds are learned
// ([colloc.Planner.Observe]). Where the driver does not tell whose the memory is,
// as in a container, a task that is alone on its GPU holds what the memory in use
// has grown by; of several tasks none is told.
//
// # Secrets
//
// Environments are handed to processes in memory. The runner writes [Task].Env to
// the queue file, which only its user may read, and no environment to logs,
// records, events or errors.
//
// Tasks run on Linux only. Elsewhere the package compiles and Open returns an error.
package runner
