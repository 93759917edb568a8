// Package search improves plans step by step: it anneals, exchanging two tasks at a
// time by estimates of what pairs lose, and takes a few GPUs apart and fills them anew.
package search
