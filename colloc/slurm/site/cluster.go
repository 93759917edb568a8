package site

import (
	"errors"
	"time"

	"example.com/colloc/profile"
)

var (
	// ErrPartition means that the cluster has no partition of that name.
	ErrPartition = errors.New("unknown partition")
	// ErrImpossible means that no node, however empty, can hold what was asked
	// for.
	ErrImpossible = errors.New("impossible request")
)

// Cluster is what a site offers, whether or not it is free right now.
type Cluster struct {
	// Partitions are the queues, in the site's order.
	Partitions []Partition `json:"partitions"`
	// Nodes are the kinds of node.
	Nodes []NodeType `json:"nodes"`
}

// Partition is one queue.
type Partition struct {
	// Name is what --partition takes.
	Name string `json:"name"`
	// Default says that jobs go there that name none.
	Default bool `json:"default,omitempty"`
	// Down says that it starts no jobs.
	Down bool `json:"down,omitempty"`
	// MaxTime is the longest time limit; 0 is none.
	MaxTime time.Duration `json:"max_time_ns,omitempty"`
	// MaxNodes is the largest number of nodes of one job; 0 is no limit.
	MaxNodes int `json:"max_nodes,omitempty"`
	// MemoryPerCPU and MemoryPerNode are what a job gets that states no memory; Unlimited
	// says that it gets all of the node.
	MemoryPerCPU  profile.Bytes `json:"memory_per_cpu_bytes,omitempty"`
	MemoryPerNode profile.Bytes `json:"memory_per_node_bytes,omitempty"`
	Unlimited     bool          `json:"unlimited,omitempty"`
}

// NodeType is a number of nodes that are alike.
type NodeType struct {
	// Count is how many there are in service.
	Count int `json:"count"`
	// Partitions are the names of those that they belong to.
	Partitions []string `json:"partitions"`
	// CPUs and Memory are what Slurm can give away on one node.
	CPUs   int           `json:"cpus"`
	Memory profile.Bytes `json:"memory_bytes"`
	// GPU is the type as --gres names it, for example "a100"; empty if the site
	// gives no types. GPUs is the number on one node.
	GPU  string `json:"gpu,omitempty"`
	GPUs int    `json:"gpus,omitempty"`
	// GPUMemory is that of one GPU; 0 means that of the product that
	// [profile.LookupGPU] knows by the type, or by one of the features.
	GPUMemory profile.Bytes `json:"gpu_memory_bytes,omitempty"`
	// Shards is what the node offers of gres/shard.
	Shards int `json:"shards,omitempty"`
	// Features are what --constraint can ask for.
	Features []string `json:"features,omitempty"`
}
