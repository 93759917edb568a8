package cli

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"example.com/colloc/internal/owner"
)

// Loopback listens at the address of a flag, [HOST]:PORT, which must be one of this machine
// alone. An error is the user's if listening was not tried.
func Loopback(name, address string) (l net.Listener, usage, err error) {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("-%s %s: want HOST:PORT or :PORT: %w", name, address, err), nil
	case host == "":
		host = "localhost"
	}
	if !loopback(host) {
		return nil, fmt.Errorf("-%s %s: want localhost, 127.0.0.1 or [::1]: other machines must not reach it", name, address), nil
	}
	if l, err = net.Listen("tcp", net.JoinHostPort(host, port)); err != nil {
		return nil, nil, fmt.Errorf("-%s %s: %w", name, address, err)
	}
	return &few{Listener: l, holder: holder, open: make(map[int64][]*counted)}, nil, nil
}

// most is how many connections there are at once: every user of this machine may make some, and they take descriptors
// and memory from what the program does for others.
const most = 64

// unknown is whoever the kernel does not name.
const unknown = -1

// holder is the user at the other end of a connection.
func holder(c net.Conn) int64 {
	here, err := netip.ParseAddrPort(c.LocalAddr().String())
	there, wrong := netip.ParseAddrPort(c.RemoteAddr().String())
	if uid, known := owner.OfEnd(there, here); known && err == nil && wrong == nil {
		return int64(uid)
	}
	return unknown
}

// few lets most connections wait for an end. Of more, that of a user who has fewer than another takes the place of that
// other's oldest: nobody can keep them all from others. Else it is closed at once.
type few struct {
	net.Listener

	holder func(net.Conn) int64

	mu   sync.Mutex
	all  int
	open map[int64][]*counted // by user, the oldest first
}

// Accept implements net.Listener.
func (l *few) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		it := &counted{c, l, l.holder(c)}
		out := l.enter(it)
		if out != nil {
			_ = out.Close() // who has it finds out
		}
		if out != it {
			return it, nil
		}
	}
}

// enter counts a connection, and returns the one that has to go for it, which may be itself.
func (l *few) enter(c *counted) (out *counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == most {
		largest := c.user
		for user, theirs := range l.open {
			if more := cmp.Compare(len(theirs), len(l.open[largest])); more > 0 || more == 0 && user < largest {
				largest = user
			}
		}
		if len(l.open[largest]) <= len(l.open[c.user])+1 { // they would take it from one another for ever
			return c
		}
		out = l.open[largest][0]
		l.leave(out)
	}
	l.all++
	l.open[c.user] = append(l.open[c.user], c)
	return out
}

// leave counts a connection no longer, if it was.
func (l *few) leave(c *counted) {
	theirs := l.open[c.user]
	at := slices.Index(theirs, c)
	if at < 0 {
		return
	}
	l.all--
	if l.open[c.user] = slices.Delete(theirs, at, at+1); len(theirs) == 1 {
		delete(l.open, c.user)
	}
}

// counted is one of few connections.
type counted struct {
	net.Conn

	of   *few
	user int64
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.of.mu.Lock()
	c.of.leave(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Holder names the user at the other end of a connection that [Loopback] let in, the same for all whom the kernel does not
// name.
func Holder(c net.Conn) string {
	user := int64(unknown)
	if c, ok := c.(*counted); ok {
		user = c.user
	}
	return strconv.FormatInt(user, 10)
}

// OwnName answers those who call this machine by its own name: a site of somebody else's
// whose name leads here gets nothing.
func OwnName(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !loopback(host) {
			http.Error(w, "ask for localhost", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// loopback says whether a host is this machine by a name that nobody else has.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
