// Package utilization judges what is said of how busy a task alone keeps its GPU.
package utilization
