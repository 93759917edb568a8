// Package ahead is the scheduler of policy.Colloc: online.Scheduler decides, and what
// is measured improves what is predicted.
package ahead
