// Package groups reads PodGroups, in which Kubernetes 1.36 and newer say which pods have
// to start together, where the API server serves them.
package groups
