package few_test

import (
	"io"
	"net"
	"testing"

	"example.com/colloc/internal/few"
)

// Who takes all that one address may have leaves the rest to others, and gets more once one
// has gone, however often that one is closed.
func TestListener(t *testing.T) {
	under, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := few.Listener(under, 3, 2, few.Address)
	t.Cleanup(func() { _ = l.Close() })
	accepted := make(chan net.Conn, 9)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func(from string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", under.Addr().String())
		if err != nil {
			t.Skipf("this system has one address alone: %v", err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	closed := func(c net.Conn) {
		t.Helper()
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("one too many reads %d bytes, %v", n, err)
		}
	}
	open := func(c net.Conn) net.Conn {
		t.Helper()
		at := <-accepted
		if _, err := at.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Errorf("one that there is room for: %v", err)
		}
		return at
	}
	first := open(dial("127.0.0.1"))
	open(dial("127.0.0.1"))
	closed(dial("127.0.0.1"))
	open(dial("127.0.0.2"))
	closed(dial("127.0.0.1")) // all are taken, and it has most
	for range 2 {             // http closes twice
		_ = first.Close()
	}
	open(dial("127.0.0.3"))
	closed(dial("127.0.0.2")) // each has one
}
