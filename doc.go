// Package colloc is the root of a library that decides which GPU training
// tasks should share a GPU, and how. It has no exported names; the packages
// below it are the stages of one sentence: describe a task, observe it, predict
// what it needs and how it disturbs its neighbours, pack tasks so that shared
// GPUs do the most work, act on the plan, and learn from what happened.
//
//   - [example.com/colloc/profile]: what a task is and what was seen of it
//   - [example.com/colloc/predict]: peak memory and mutual slowdown, each as an
//     interval, from regressions that learn from every co-run
//   - [example.com/colloc/packer]: the sets and mechanisms with the highest
//     throughput, with a proven bound
//   - [example.com/colloc/nvmlx]: GPUs as a stream of samples, live or replayed
//   - [example.com/colloc/colloc]: the facade that a scheduler embeds
//
// Start with the program in examples/quickstart.
package colloc
