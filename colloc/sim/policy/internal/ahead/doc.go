// Package ahead is the scheduler of policy.Colloc: the simulator as a body that package dispatch
// drives, and what it predicts, made better by what is measured, as the mind.
package ahead
