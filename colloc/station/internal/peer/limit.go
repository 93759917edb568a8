package peer

import (
	"errors"
	"net"
	"sync"
)

// Limit lets each user but root have at most so many connections of a unix socket at
// once; more of them are closed at once.
func Limit(l net.Listener, most int) net.Listener {
	return &limited{Listener: l, most: most, open: make(map[uint32]int)}
}

type limited struct {
	net.Listener

	most int
	mu   sync.Mutex
	open map[uint32]int // connections, by user
}

// Accept implements net.Listener. Whom the kernel does not name gets no connection.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		u, err := Of(c)
		if unix, ok := c.(*net.UnixConn); ok && err == nil && l.take(u) {
			return &conn{UnixConn: unix, user: u, release: sync.OnceFunc(func() { l.give(u) })}, nil
		}
		_ = c.Close() // nothing was written
	}
}

func (l *limited) take(u User) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !u.Root() && l.open[u.UID] >= l.most {
		return false
	}
	l.open[u.UID]++
	return true
}

func (l *limited) give(u User) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[u.UID]--; l.open[u.UID] == 0 {
		delete(l.open, u.UID)
	}
}

// conn is a connection that is counted.
type conn struct {
	*net.UnixConn

	user    User
	release func()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.release()
	err := c.UnixConn.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
