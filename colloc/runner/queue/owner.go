package queue

// Owner is the user that a task runs as.
type Owner struct {
	// UID and GID are the user and the primary group.
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
	// Groups are the other groups.
	Groups []uint32 `json:"groups,omitempty"`
}
