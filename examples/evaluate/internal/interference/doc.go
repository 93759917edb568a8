// Package interference judges what is said of the speeds of two tasks that share a
// GPU, by the errors of single speeds and by what pairing the tasks so is worth;
// and how fast a model learns of tasks that are new to it.
package interference
