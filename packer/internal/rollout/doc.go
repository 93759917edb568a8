// Package rollout plays what is known of a cluster to its end, under one way to
// decide after the other, and says what each comes to: an event engine of integers,
// with which package online looks ahead. The same question has the same answer on
// every machine.
package rollout
