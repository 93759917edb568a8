package peer

import (
	"os/user"
	"strconv"
	"strings"
	"sync"
)

// User is who sends a request.
type User struct {
	UID, GID uint32
	Groups   []uint32 // the others
	PID      int32    // of the process that asks: 0 where no socket told who does, -1 where the kernel shows it not
}

// Root reports whether the user may do everything.
func (u User) Root() bool { return u.UID == 0 }

// Names finds the names of users. The zero value is ready; it is safe for concurrent use.
type Names struct {
	mu    sync.Mutex
	known map[uint32]string
}

// Of returns the name of a user, or the number if there is none.
func (n *Names) Of(uid uint32) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name, ok := n.known[uid]; ok {
		return name
	}
	name := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(name); err == nil && u.Username != "" {
		name = u.Username
	}
	if n.known == nil {
		n.known = make(map[uint32]string)
	}
	n.known[uid] = name
	return name
}

// Lender returns whom the text of /etc/subuid gives a number, so that processes of that user may go by it; empty is nobody.
func Lender(table string, uid uint32) string {
	for line := range strings.Lines(table) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) != 3 {
			continue
		}
		from, err := strconv.ParseUint(fields[1], 10, 32)
		count, countErr := strconv.ParseUint(fields[2], 10, 32)
		if err == nil && countErr == nil && uint64(uid) >= from && uint64(uid)-from < count {
			return fields[0]
		}
	}
	return ""
}

// Lookup finds a user by name or number.
func Lookup(name string) (uint32, error) {
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return 0, err
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	return uint32(uid), err
}
