// Package gangs chooses where a gang runs: pods that start together or not at all, each
// with some GPUs of one product on one node. [Sites] finds places that are empty, and
// [Room] those who would have to go where there is none. It knows no client and no
// Planner: what may share, and whether a product will do, is asked before.
package gangs
