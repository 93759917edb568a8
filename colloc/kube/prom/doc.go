// Package prom asks Prometheus what became of decisions: what DCGM saw of a card, and the
// answer to a user's own query. Every question has a time-out and a largest answer.
package prom
