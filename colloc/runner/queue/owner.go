package queue

import "example.com/colloc/profile"

// Owner is the user that a task runs as, and what that user's shell would give it.
type Owner struct {
	// UID and GID are the user and the primary group.
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
	// Groups are the other groups.
	Groups []uint32 `json:"groups,omitempty"`
	// Umask is the mode bits that files it makes do not get; missing is 077.
	Umask profile.Opt[uint32] `json:"umask,omitzero"`
	// Limits are resource limits by the names of ulimit's manual: as, core, cpu, data,
	// fsize, memlock, nofile, nproc, rss, stack. Others stay the runner's.
	Limits map[string]Limit `json:"limits,omitempty"`
}

// Limit is a resource limit; -1 is none.
type Limit struct {
	Soft int64 `json:"soft"`
	Hard int64 `json:"hard"`
}
