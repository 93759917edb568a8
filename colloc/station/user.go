package station

import (
	"os"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/internal/peer"
)

// self is the user that the daemon is.
func self() runner.Owner {
	return runner.Owner{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())} //nolint:gosec // the kernel's numbers
}

// admits reports whether a user may use the station at all.
func (s *Station) admits(u peer.User) bool { return u.Root() || u.UID == self().UID }

// ownerOf is as whom a user's tasks run.
func (s *Station) ownerOf(peer.User) runner.Owner { return self() }

// ownerOf is whose a job is.
func ownerOf(r *runner.Record) uint32 {
	if r.Task.Owner == nil {
		return self().UID
	}
	return r.Task.Owner.UID
}

// may reports whether a user may see and change a job.
func (s *Station) may(u peer.User, r *runner.Record) bool { return u.Root() || u.UID == ownerOf(r) }

// governs reports whether a user may say what becomes of GPUs.
func (s *Station) governs(u peer.User) bool { return u.Root() || u.UID == self().UID }
