package few

import (
	"net"
	"slices"
	"testing"
)

// TestFewFair: a user who holds all connections keeps nobody else from having some, and loses no more than others need;
// no two take one from each other for ever.
func TestFewFair(t *testing.T) {
	const most = 64
	l := &few{most: most, each: most, open: make(map[string][]*counted)}
	enter := func(user string) (c, out *counted) {
		one, other := net.Pipe()
		t.Cleanup(func() { _, _ = one.Close(), other.Close() })
		c = &counted{one, l, user}
		return c, l.enter(c)
	}
	oldest, out := enter("7")
	if out != nil {
		t.Error("the first one has to go")
	}
	for range most - 1 {
		if _, out := enter("7"); out != nil {
			t.Error("somebody has to go while there is room")
		}
	}
	if c, out := enter("7"); out != c {
		t.Error("one has more than there are")
	}
	for n := range most / 2 {
		c, out := enter("8")
		if out == nil || out.holder != "7" || n == 0 && out != oldest {
			t.Fatalf("for number %d of another %+v has to go, want the first one's oldest", n, out)
		}
		if err := c.Conn.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, user := range []string{"7", "8"} {
		if c, out := enter(user); out != c {
			t.Errorf("both have half, and user %s takes one from the other", user)
		}
	}
	if _, out := enter(""); out == nil || out.holder != "7" { // of equals the lower name
		t.Errorf("%+v has to go for a third one", out)
	}
	if l.all != most || len(l.open["7"]) != most/2-1 || len(l.open["8"]) != most/2 || len(l.open[""]) != 1 {
		t.Errorf("%d connections: %d, %d and %d", l.all, len(l.open["7"]), len(l.open["8"]), len(l.open[""]))
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
