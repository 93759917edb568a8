package owner

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// connect is the other user: it connects to an address, says so, and waits until its standard input ends.
const connect = "OWNER_TEST_CONNECT"

func TestMain(m *testing.M) {
	if address := os.Getenv(connect); address != "" {
		c, err := net.Dial("tcp", address)
		if err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it ends
		_ = c.Close()                         // nothing was written
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestOfEnd: the kernel says who connected, over IPv4 and IPv6, and nothing of who has gone.
func TestOfEnd(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			if strings.Contains(host, ":") {
				continue // a machine without IPv6
			}
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }() // nobody waits
		users := []uint32{uint32(os.Geteuid())}
		if os.Geteuid() == 0 {
			users = append(users, 54321)
		}
		for _, uid := range users {
			self, err := os.Open("/proc/self/exe") // the other user may not reach the file by its name
			if err != nil {
				t.Fatal(err)
			}
			other := exec.Command("/proc/self/fd/3")
			other.ExtraFiles = []*os.File{self}
			other.Env = append(os.Environ(), connect+"="+l.Addr().String())
			if int(uid) != os.Geteuid() {
				other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
			}
			end, err := other.StdinPipe()
			if err == nil {
				err = other.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			_ = self.Close() // the child has it
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			local, remote := netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(c.RemoteAddr().String())
			if got, known := OfEnd(remote, local); !known || got != uid {
				t.Errorf("%s: the other end is user %d's, %v; want %d", host, got, known, uid)
			}
			if got, known := OfEnd(local, remote); !known || int(got) != os.Geteuid() {
				t.Errorf("%s: this end is user %d's, %v", host, got, known)
			}
			if err := end.Close(); err != nil {
				t.Error(err)
			}
			if err := other.Wait(); err != nil {
				t.Error(err)
			}
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Error("it still talks")
			}
			if got, known := OfEnd(remote, local); known {
				t.Errorf("%s: an end that is gone is user %d's", host, got)
			}
			_ = c.Close() // the other end is gone
		}
	}
}
