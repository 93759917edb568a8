// Package colloc is the root of a library that decides which GPU training
// tasks should share a GPU, and how. It has no exported names; the packages
// below it are the stages of one sentence: describe a task, observe it, predict
// what it needs and how it disturbs its neighbours, pack tasks so that shared
// GPUs do the most work, act on the plan, and learn from what happened.
//
//   - [example.com/colloc/profile]: what a task is and what was seen of it; the GPU catalogue
//   - [example.com/colloc/profile/modelfile]: networks from the files that frameworks write
//   - [example.com/colloc/profile/tracefile]: logs of GPU use that people already have
//   - [example.com/colloc/predict]: what an answer is: an estimate with its interval and its source
//   - [example.com/colloc/predict/memory]: how much device memory a task needs, and what to reserve
//   - [example.com/colloc/predict/utilization]: how busy a task keeps a GPU, from its description
//   - [example.com/colloc/predict/interference]: how fast tasks run side by side, learned from every co-run
//   - [example.com/colloc/predict/pace]: how fast a kind of GPU, or a slice of one, is for a task
//   - [example.com/colloc/predict/learned]: what was learned, to be saved, loaded and looked into
//   - [example.com/colloc/predict/dataset]: readers of published measurements
//   - [example.com/colloc/predict/pretrained]: fitted models, for those who have no measurements
//   - [example.com/colloc/packer]: which tasks share which GPU: the question, the answer, the check of it
//   - [example.com/colloc/packer/solve]: the sets with the highest throughput, with a proven bound
//   - [example.com/colloc/packer/online]: sessions, in which tasks come and go
//   - [example.com/colloc/packer/matching]: maximum-weight matching of integers, for anyone
//   - [example.com/colloc/packer/mig]: layouts of MIG instances
//   - [example.com/colloc/nvmlx]: GPUs as a stream of samples, live or replayed
//   - [example.com/colloc/nvmlx/gonvml]: the GPUs of this host, through NVIDIA's library
//   - [example.com/colloc/nvmlx/mps]: environment and daemon of MPS
//   - [example.com/colloc/colloc]: the facade that a scheduler embeds
//   - [example.com/colloc/colloc/taskfile]: what is known of tasks, as a file that every command reads
//   - [example.com/colloc/colloc/decide]: its decisions over HTTP and JSON
//   - [example.com/colloc/colloc/wire]: how its servers read requests and refuse them
//   - [example.com/colloc/colloc/ledger]: reservations of many schedulers against real use
//   - [example.com/colloc/colloc/dispatch]: the one brain: what happened goes in, what starts and stops comes out
//   - [example.com/colloc/colloc/dispatch/dispatchtest]: what must hold for those who carry that out, as a test
//   - [example.com/colloc/colloc/advise]: what holds a task back, and what to do about it
//   - [example.com/colloc/colloc/gain]: what sharing would have gained a site, from its own past
//   - [example.com/colloc/colloc/gain/records]: that past, from the books of schedulers
//   - [example.com/colloc/colloc/shadow]: what colloc would have done, beside a scheduler that it does not touch
//   - [example.com/colloc/colloc/shadow/journal]: what somebody who looks on saw, in a file
//   - [example.com/colloc/colloc/shadow/follow]: what colloc makes of that, round by round and in the end
//   - [example.com/colloc/colloc/runner]: tasks as processes on this host
//   - [example.com/colloc/colloc/runner/queue]: what a task is and what is known of it
//   - [example.com/colloc/colloc/runner/fakegpu]: a host that pretends to have GPUs, for tests
//   - [example.com/colloc/colloc/station]: the GPUs of one machine for all who work there
//   - [example.com/colloc/colloc/station/api]: what goes over its socket, and a client
//   - [example.com/colloc/colloc/station/account]: what each user had of it
//   - [example.com/colloc/colloc/station/metrics]: it, and its users, for Prometheus
//   - [example.com/colloc/colloc/station/notify]: what becomes of jobs, by command or webhook
//   - [example.com/colloc/colloc/station/page]: it in a browser
//   - [example.com/colloc/colloc/slurm]: a client for Slurm
//   - [example.com/colloc/colloc/slurm/script]: its batch scripts
//   - [example.com/colloc/colloc/slurm/site]: what a cluster has, and what goes on there
//   - [example.com/colloc/colloc/slurm/sizing]: what to ask it for
//   - [example.com/colloc/colloc/sim]: a simulator of clusters
//   - [example.com/colloc/colloc/sim/bound]: what no policy comes below on a day, proven
//   - [example.com/colloc/colloc/sim/harness]: a fleet that pretends, and a Planner as a policy, for tests of schedulers
//   - [example.com/colloc/colloc/sim/history]: what a scheduler learns of tasks during a simulated day
//   - [example.com/colloc/colloc/sim/measured] plays days that ran on real GPUs
//   - [example.com/colloc/colloc/sim/policy]: published and own policies for it
//   - [example.com/colloc/colloc/sim/simtest]: what every policy must keep, as a test
//   - [example.com/colloc/colloc/sim/speed]: how fast tasks run together, for simulations
//   - [example.com/colloc/colloc/sim/trace]: traces that schedulers are compared on
//
// Start with the program in examples/quickstart. Those who want to use colloc and
// not to embed it install the one in colloc/cmd/colloc.
package colloc
