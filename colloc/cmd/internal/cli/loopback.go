package cli

import (
	"fmt"
	"net"
	"net/http"
	"sync"
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
	return &few{l, make(chan struct{}, most)}, nil, nil
}

// most is how many connections there are at once: every user of this machine may make some, and they take descriptors
// and memory from what the program does for others.
const most = 64

// few lets that many connections wait for an end, and closes more at once.
type few struct {
	net.Listener

	open chan struct{} // has an element for each
}

// Accept implements net.Listener.
func (l *few) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.open <- struct{}{}:
			return &counted{c, sync.OnceFunc(func() { <-l.open })}, nil
		default:
			_ = c.Close() // nothing was written
		}
	}
}

// counted is one of few connections.
type counted struct {
	net.Conn

	release func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.release()
	return c.Conn.Close()
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
