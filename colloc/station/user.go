package station

import (
	"os"
	"strconv"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/internal/regular"
)

// self is the user that the daemon is.
func self() uint32 { return uint32(os.Geteuid()) } //nolint:gosec // the kernel's number

// admits reports whether a user may use the station at all.
func (s *Station) admits(u peer.User) bool {
	return s.config.Everybody || u.Root() || u.UID == self()
}

// lender is who has lent a user's number, which is nobody's: whoever has thousands would have thousands of shares and limits.
func (s *Station) lender(u peer.User) string {
	if !s.config.Everybody || s.names.Of(u.UID) != strconv.FormatUint(uint64(u.UID), 10) {
		return ""
	}
	const most = 1 << 20
	table, _ := regular.Read(s.config.lent, most) // where there is none nobody lends
	return peer.Lender(string(table), u.UID)
}

// ownerOf is as whom a user's task runs.
func (s *Station) ownerOf(u peer.User, in *api.Task) runner.Owner {
	o := runner.Owner{UID: u.UID, GID: u.GID, Groups: u.Groups, Umask: in.Umask}
	if !s.config.Everybody {
		o.UID, o.GID, o.Groups = self(), uint32(os.Getegid()), nil //nolint:gosec // the kernel's number
	}
	if len(in.Limits) > 0 {
		o.Limits = make(map[string]runner.Limit, len(in.Limits))
		for name, limit := range in.Limits {
			o.Limits[name] = runner.Limit(limit)
		}
	}
	return o
}

// mostOf are the limits that a user's tasks may have at most, by what the kernel says of the process that asks: where
// a station runs as root it could give any. Nil where the tasks run as who the station is, and where the program that serves says who asks.
func (s *Station) mostOf(u peer.User) (map[string]runner.Limit, error) {
	if !s.config.Everybody || u.Root() || u.PID == 0 {
		return nil, nil
	}
	most, err := runner.LimitsOf(u.PID, u.UID)
	if err != nil {
		return nil, api.Errorf(api.Forbidden, "", "ask by a program that waits for the answer and has no rights but yours", "nobody knows which limits you have: %v", err)
	}
	return most, nil
}

// uidFor is as which user a user's tasks run.
func (s *Station) uidFor(u peer.User) uint32 {
	if s.config.Everybody {
		return u.UID
	}
	return self()
}

// uidOf is whose a job is.
func uidOf(r *runner.Record) uint32 {
	if r.Task.Owner == nil {
		return self()
	}
	return r.Task.Owner.UID
}

// may reports whether a user may see and change a job.
func (s *Station) may(u peer.User, r *runner.Record) bool { return s.governs(u) || u.UID == uidOf(r) }

// governs reports whether a user may say what becomes of GPUs and of all jobs.
func (s *Station) governs(u peer.User) bool {
	return u.Root() || !s.config.Everybody && u.UID == self()
}

// userOf is whose the jobs are that [runner.Runner.Past] counts under a user.
func userOf(uid int) uint32 {
	if uid < 0 {
		return self()
	}
	return uint32(uid) //nolint:gosec // it was one
}
