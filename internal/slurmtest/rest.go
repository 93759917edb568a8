//go:build slurm

package slurmtest

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const nobodyID = 65534

// StartREST starts slurmrestd and returns the path of its socket. It refuses to
// run as root, and then runs as nobody; who connects is the user who asks.
func (c *Cluster) StartREST() (socket string) {
	c.t.Helper()
	dir := filepath.Join(c.Dir, "rest")
	if err := os.Mkdir(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	socket = filepath.Join(dir, "socket")
	as := &syscall.SysProcAttr{Setpgid: true}
	if c.root {
		as.Credential = &syscall.Credential{Uid: nobodyID, Gid: nobodyID}
		if err := os.Chown(dir, nobodyID, nobodyID); err != nil {
			c.t.Fatal(err)
		}
	}
	c.startAs(as, "slurmrestd", nil, "slurmrestd", "-f", c.Conf, "-a", "rest_auth/local", "-s", "openapi/v0.0.38", "unix:"+socket)
	c.await("slurmrestd listens", func() bool {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return socket
}

// Listeners returns the addresses on which the cluster's processes listen for
// TCP, in the hexadecimal form of /proc/net/tcp: "0100007F:1F90" is
// 127.0.0.1:8080.
func (c *Cluster) Listeners() []string {
	c.t.Helper()
	ours := make(map[string]bool) // inodes of sockets
	for _, pid := range c.Processes() {
		links, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
		for _, l := range links {
			if to, err := os.Readlink(l); err == nil {
				ours[to] = true
			}
		}
	}
	var addresses []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			const listening = "0A"
			if len(f) > 9 && f[3] == listening && ours["socket:["+f[9]+"]"] {
				addresses = append(addresses, f[1])
			}
		}
	}
	return addresses
}
