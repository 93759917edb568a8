// Package speed says how fast tasks run together: models for package sim, each
// of which can be the truth that a simulation obeys or the prediction that a
// policy is told.
//
// Measured are [Pairs], fitted is colloc's own predictor [Fitted], published is
// Muri's pipeline of [Stages], assumed are the classes of [Contention]. [Noisy]
// makes a prediction out of a truth.
package speed
