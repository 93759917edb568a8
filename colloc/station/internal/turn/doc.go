// Package turn decides which job of a station is next, and on which GPUs it may start.
package turn
