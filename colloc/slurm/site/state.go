package site

import (
	"slices"
	"strings"
	"time"

	"example.com/colloc/profile"
)

// JobID is the number of a job.
type JobID int64

// JobState is where a job stands, in Slurm's words.
type JobState string

// The states that decide what to do next. There are more.
const (
	Pending     JobState = "PENDING"
	Running     JobState = "RUNNING"
	Suspended   JobState = "SUSPENDED"
	Completing  JobState = "COMPLETING"
	Completed   JobState = "COMPLETED"
	Cancelled   JobState = "CANCELLED"
	Failed      JobState = "FAILED"
	TimedOut    JobState = "TIMEOUT"
	NodeFailed  JobState = "NODE_FAIL"
	Preempted   JobState = "PREEMPTED"
	OutOfMemory JobState = "OUT_OF_MEMORY"
	// Forgotten is a job that the controller no longer knows: see
	// Watch of slurm.Client.
	Forgotten JobState = "FORGOTTEN"
)

// Over reports whether a job in this state has ended for good.
func (s JobState) Over() bool {
	switch s {
	case Completed, Cancelled, Failed, TimedOut, NodeFailed, Preempted, OutOfMemory, Forgotten,
		"BOOT_FAIL", "DEADLINE", "REVOKED", "LAUNCH_FAILED":
		return true
	default:
		return false
	}
}

// Holds reports whether a job in this state holds its GPUs: it has started, has
// not ended, or its end is still being cleaned up.
func (s JobState) Holds() bool {
	switch s {
	case Pending, "", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD":
		return false
	default:
		return !s.Over()
	}
}

// JobInfo is a job as Slurm knows it. What was not said is zero.
type JobInfo struct {
	ID JobID `json:"id"`
	// Array is the job array that it belongs to, Index its place there. Indices are those
	// that have not started, in the record that stands for them.
	Array   JobID            `json:"array,omitempty"`
	Index   profile.Opt[int] `json:"index,omitzero"`
	Indices string           `json:"indices,omitempty"`

	Name      string `json:"name,omitempty"`
	User      string `json:"user,omitempty"`
	Account   string `json:"account,omitempty"`
	Partition string `json:"partition,omitempty"`
	Comment   string `json:"comment,omitempty"`
	// State is where it stands, Reason why it waits or why it ended.
	State  JobState `json:"state"`
	Reason string   `json:"reason,omitempty"`
	// Nodes are those that it has or had, Required those that it asked for.
	Nodes    []string `json:"nodes,omitempty"`
	Required []string `json:"required,omitempty"`
	// Asked is what it wants on each node, Held what it has: one list per
	// entry of Nodes, nil if it has nothing.
	Asked []Gres `json:"asked,omitempty"`
	// InAll is what it wants on all nodes together, however it asked for it: on each node,
	// for each task, or for the job.
	InAll []Gres   `json:"in_all,omitempty"`
	Held  [][]Held `json:"held,omitempty"`
	// CPUs and Memory are those of all nodes together.
	CPUs   int           `json:"cpus,omitempty"`
	Memory profile.Bytes `json:"memory_bytes,omitempty"`
	// Limit is the time limit; 0 is none.
	Limit time.Duration `json:"limit_ns,omitempty"`
	// Submitted, Started and Ended are in UTC. Of a job that waits Started is
	// when Slurm expects it to start, of one that runs Ended is when its limit
	// is reached.
	Submitted time.Time `json:"submitted,omitzero"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	// Eligible is when nothing but Slurm's queue held it back any more, Elapsed for how long it
	// ran without suspensions; only accounting says both.
	Eligible time.Time     `json:"eligible,omitzero"`
	Elapsed  time.Duration `json:"elapsed_ns,omitempty"`
	// GPUBusy is the share of the time in which it kept its GPUs busy. GPUMemory is the
	// peak of a task of it. Both are known where accounting watches GPUs.
	GPUBusy   profile.Opt[float64]       `json:"gpu_busy,omitzero"`
	GPUMemory profile.Opt[profile.Bytes] `json:"gpu_memory_bytes,omitzero"`
	// Restarts is how often it was put back into the queue.
	Restarts int `json:"restarts,omitempty"`
	// Exit and Signal are what it ended with.
	Exit   int `json:"exit,omitempty"`
	Signal int `json:"signal,omitempty"`
	// Output is the file of its standard output, Dir its working directory.
	Output string `json:"output,omitempty"`
	Dir    string `json:"dir,omitempty"`
}

// Node is one machine as Slurm knows it.
type Node struct {
	Name string `json:"name"`
	// State are Slurm's words in capitals, the base state first: "MIXED",
	// "DRAIN".
	State  []string `json:"state"`
	Reason string   `json:"reason,omitempty"`
	// Partitions and Features are those it belongs to and has.
	Partitions []string `json:"partitions,omitempty"`
	Features   []string `json:"features,omitempty"`
	// CPUs and Memory are what Slurm can give away.
	CPUs   int           `json:"cpus,omitempty"`
	Memory profile.Bytes `json:"memory_bytes,omitempty"`
	// UsedCPUs and UsedMemory are what jobs have of them, those that the caller may not
	// see included.
	UsedCPUs   int           `json:"used_cpus,omitempty"`
	UsedMemory profile.Bytes `json:"used_memory_bytes,omitempty"`
	// Gres is what the node offers: GPUs, and shares of them. Used is what of it jobs
	// have; up to 22.05 it counts GPUs that are shared, not shares.
	Gres []Held `json:"gres,omitempty"`
	Used []Held `json:"used,omitempty"`
}

// Up reports whether the node takes new jobs, now or when it has room.
func (n *Node) Up() bool {
	return len(n.State) > 0 && !slices.ContainsFunc(n.State, func(s string) bool {
		switch s {
		case "IDLE", "MIXED", "ALLOCATED", "COMPLETING", "PLANNED",
			"CLOUD", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "POWERED_DOWN", "POWER_UP", "POWERING_UP", "POWERED_UP": // Slurm wakes it for a job
			return false
		default:
			return true // DOWN, DRAIN, FAIL, NOT_RESPONDING, MAINTENANCE, RESERVED, and what is to come
		}
	})
}

// State is a cluster at one moment.
type State struct {
	Jobs       []JobInfo   `json:"jobs"`
	Nodes      []Node      `json:"nodes"`
	Partitions []Partition `json:"partitions"`
}

// jobState puts Slurm's word, or words, into one: a job that completes still
// holds what it has.
func jobState(w words) JobState {
	states := strings.Split(strings.ToUpper(strings.Join(w, ",")), ",")
	if slices.Contains(states, "COMPLETING") {
		return Completing
	}
	state, _, _ := strings.Cut(states[0], " ") // "CANCELLED by 1000"
	return JobState(strings.TrimSuffix(state, "+"))
}

// Free returns the CPUs and the memory of a node that no job has. It goes by the jobs
// that are seen and by the node's own count, whichever leaves less. Both are 0 if
// there is no such node.
func (s *State) Free(node string) (cpus int, memory profile.Bytes) {
	n := s.Node(node)
	if n == nil {
		return 0, 0
	}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.State.Holds() && slices.Contains(j.Nodes, node) {
			cpus += j.CPUs / len(j.Nodes)
			memory += j.Memory / profile.Bytes(len(j.Nodes))
		}
	}
	return max(0, n.CPUs-max(cpus, n.UsedCPUs)), max(0, n.Memory-max(memory, n.UsedMemory))
}

// Miscounted returns the nodes of which Slurm counts GPUs as used that no job has. A slurmctld that was restarted may
// give GPUs away before its nodes have told which they are, and then does not take them back: nobody gets them until an
// administrator runs scontrol reconfigure (22.05). Nodes on which jobs may run that are not among those of the state are
// left out. Slurm tells of nodes first and of jobs then: ask twice.
func (s *State) Miscounted() (nodes []string) {
	cpus := make(map[string]int)
	for i := range s.Jobs {
		for _, node := range s.Jobs[i].Nodes {
			if s.Jobs[i].State.Holds() {
				cpus[node] += s.Jobs[i].CPUs / len(s.Jobs[i].Nodes)
			}
		}
	}
	for _, d := range s.Devices() {
		if !d.Unclear || len(d.Jobs) > 0 || slices.Contains(nodes, d.Node) {
			continue
		}
		if n := s.Node(d.Node); n.CPUs > 0 && n.UsedCPUs == cpus[d.Node] {
			nodes = append(nodes, d.Node)
		}
	}
	return nodes
}

// Job returns one of the jobs; nil if it is not among them.
func (s *State) Job(id JobID) *JobInfo {
	for i := range s.Jobs {
		if s.Jobs[i].ID == id {
			return &s.Jobs[i]
		}
	}
	return nil
}

// Node returns one of the nodes; nil if it is not among them.
func (s *State) Node(name string) *Node {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return &s.Nodes[i]
		}
	}
	return nil
}
