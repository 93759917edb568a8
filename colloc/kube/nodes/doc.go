// Package nodes reads what GPUs a node has and what else it offers: from the
// ResourceSlices of its driver, which tell UUIDs, and where there are none from the
// labels that NVIDIA's GPU feature discovery sets.
package nodes
