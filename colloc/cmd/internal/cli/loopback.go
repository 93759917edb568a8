package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"example.com/colloc/internal/few"
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
	return few.Listener(l, most, most, holder), nil, nil
}

// most is how many connections there are at once: every user of this machine may make some, and they take descriptors
// and memory from what the program does for others.
const most = 64

// holder is the user at the other end of a connection, "" whom the kernel does not name.
func holder(c net.Conn) string {
	here, err := netip.ParseAddrPort(c.LocalAddr().String())
	there, wrong := netip.ParseAddrPort(c.RemoteAddr().String())
	if uid, known := owner.OfEnd(there, here); known && err == nil && wrong == nil {
		return strconv.FormatUint(uint64(uid), 10)
	}
	return ""
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
