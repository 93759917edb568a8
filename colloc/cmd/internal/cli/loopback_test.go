package cli

import (
	"io"
	"net"
	"slices"
	"testing"
)

// TestFew: so many connections at once, and more are closed; who goes makes room.
func TestFew(t *testing.T) {
	l, usage, err := Loopback("http", "127.0.0.1:0")
	if usage != nil || err != nil {
		t.Fatal(usage, err)
	}
	accepted := make(chan net.Conn, most+1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	for range most {
		dial()
	}
	var first net.Conn
	for range most {
		first = <-accepted
	}
	if n, err := dial().Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("one more reads %d, %v, want the end", n, err)
	}
	for range 2 { // http closes twice
		_ = first.Close()
	}
	more := dial()
	c := <-accepted
	if _, err := c.Write([]byte{1}); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(more, make([]byte, 1)); err != nil {
		t.Errorf("after one has gone: %v", err)
	}
	if n, err := dial().Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the one that was closed twice made room for two: %d, %v", n, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	<-done
}

// TestFewFair: a user who holds all connections keeps nobody else from having some, and loses no more than others need;
// no two take one from each other for ever.
func TestFewFair(t *testing.T) {
	l := &few{open: make(map[int64][]*counted)}
	enter := func(user int64) (c, out *counted) {
		one, other := net.Pipe()
		t.Cleanup(func() { _, _ = one.Close(), other.Close() })
		c = &counted{one, l, user}
		return c, l.enter(c)
	}
	oldest, out := enter(7)
	if out != nil {
		t.Error("the first one has to go")
	}
	for range most - 1 {
		if _, out := enter(7); out != nil {
			t.Error("somebody has to go while there is room")
		}
	}
	if c, out := enter(7); out != c {
		t.Error("one has more than there are")
	}
	for n := range most / 2 {
		c, out := enter(8)
		if out == nil || out.user != 7 || n == 0 && out != oldest {
			t.Fatalf("for number %d of another %+v has to go, want the first one's oldest", n, out)
		}
		if err := c.Conn.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, user := range []int64{7, 8} {
		if c, out := enter(user); out != c {
			t.Errorf("both have half, and user %d takes one from the other", user)
		}
	}
	if _, out := enter(unknown); out == nil || out.user != 7 { // of equals the lower number
		t.Errorf("%+v has to go for a third one", out)
	}
	if l.all != most || len(l.open[7]) != most/2-1 || len(l.open[8]) != most/2 || len(l.open[unknown]) != 1 {
		t.Errorf("%d connections: %d, %d and %d", l.all, len(l.open[7]), len(l.open[8]), len(l.open[unknown]))
	}
	for _, theirs := range l.open {
		for _, c := range slices.Clone(theirs) {
			for range 2 { // http closes twice
				_ = c.Close()
			}
		}
	}
	if l.all != 0 || len(l.open) != 0 {
		t.Errorf("%d are counted when all are closed: %v", l.all, l.open)
	}
}
