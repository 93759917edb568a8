package cli

import (
	"io"
	"net"
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
