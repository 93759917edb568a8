// Package footprint counts what a training step of a network keeps in device
// memory, layer by layer: what the predictors of memory and of utilisation both
// start from. It alone of these internal packages knows what a task is.
package footprint
