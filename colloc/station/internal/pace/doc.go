// Package pace tells how long the steps of a job take, by the steps that were seen of it.
package pace
