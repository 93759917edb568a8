package few

import (
	"cmp"
	"net"
	"slices"
	"sync"
)

// Listener lets at most most connections at once wait for an end, of one holder each at most. Of
// more, that of a holder who has fewer than another takes the place of that other's oldest: nobody
// can keep them all from others. Else it is closed before anything is read of it. Who says who
// holds the other end.
func Listener(l net.Listener, most, each int, who func(net.Conn) string) net.Listener {
	return &few{Listener: l, most: most, each: each, who: who, open: make(map[string][]*counted)}
}

// Address is the address at the other end.
func Address(c net.Conn) string {
	host, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return c.RemoteAddr().String()
	}
	return host
}

// Holder is who holds the other end of a connection that a [Listener] let in, "" of another.
func Holder(c net.Conn) string {
	if c, ok := c.(*counted); ok {
		return c.holder
	}
	return ""
}

type few struct {
	net.Listener

	most, each int
	who        func(net.Conn) string
	mu         sync.Mutex
	all        int
	open       map[string][]*counted // by holder, the oldest first
}

// Accept implements net.Listener.
func (l *few) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		it := &counted{c, l, l.who(c)}
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
	if len(l.open[c.holder]) >= l.each {
		return c
	}
	if l.all == l.most {
		largest := c.holder
		for holder, theirs := range l.open {
			if more := cmp.Compare(len(theirs), len(l.open[largest])); more > 0 || more == 0 && holder < largest {
				largest = holder
			}
		}
		if len(l.open[largest]) <= len(l.open[c.holder])+1 { // they would take it from one another for ever
			return c
		}
		out = l.open[largest][0]
		l.leave(out)
	}
	l.all++
	l.open[c.holder] = append(l.open[c.holder], c)
	return out
}

// leave counts a connection no longer, if it was.
func (l *few) leave(c *counted) {
	theirs := l.open[c.holder]
	at := slices.Index(theirs, c)
	if at < 0 {
		return
	}
	l.all--
	if l.open[c.holder] = slices.Delete(theirs, at, at+1); len(theirs) == 1 {
		delete(l.open, c.holder)
	}
}

// counted is one of few connections.
type counted struct {
	net.Conn

	of     *few
	holder string
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.of.mu.Lock()
	c.of.leave(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
