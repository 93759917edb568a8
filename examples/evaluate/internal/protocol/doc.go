// Package protocol is how a prediction is judged: what a set of measurements
// must offer, how its rows are split into folds, and what the result of a model
// on them is. It knows no predictor.
package protocol
