package owner

import (
	"encoding/binary"
	"net/netip"
	"syscall"
)

// What the kernel is asked about a socket, and answers: linux/sock_diag.h and linux/inet_diag.h. syscall has no names for it.
const (
	diagFamily  = 4  // NETLINK_SOCK_DIAG
	diagRequest = 20 // SOCK_DIAG_BY_FAMILY
	established = 1  // TCP_ESTABLISHED
	anyCookie   = ^uint32(0)

	requestLength     = syscall.NLMSG_HDRLEN + 56
	stateAt           = syscall.NLMSG_HDRLEN + 1
	uidAt             = syscall.NLMSG_HDRLEN + 64
	answerLength      = uidAt + 4
	diagPatience      = 100 // milliseconds
	millisToMicros    = 1000
	addressLength     = 16
	longestDiagAnswer = 4096
)

// OfEnd returns the user who holds one end of a TCP connection within this machine: the one at local, connected to remote.
// It is false where the kernel does not say, and once that end was closed. O(1).
func OfEnd(local, remote netip.AddrPort) (uid uint32, known bool) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, diagFamily)
	if err != nil {
		return 0, false
	}
	defer func() { _ = syscall.Close(fd) }() // it was only asked
	if syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &syscall.Timeval{Usec: diagPatience * millisToMicros}) != nil ||
		syscall.Sendto(fd, question(local, remote), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}) != nil {
		return 0, false
	}
	b := make([]byte, longestDiagAnswer)
	n, _, err := syscall.Recvfrom(fd, b, 0)
	if err != nil || n < answerLength || binary.NativeEndian.Uint16(b[4:]) != diagRequest || b[stateAt] != established {
		return 0, false
	}
	return binary.NativeEndian.Uint32(b[uidAt:]), true
}

// question asks for that socket alone.
func question(local, remote netip.AddrPort) []byte {
	family, from, to := byte(syscall.AF_INET6), local.Addr().Unmap(), remote.Addr().Unmap()
	if from.Is4() {
		family = syscall.AF_INET
	}
	address := func(b []byte, a netip.Addr) []byte {
		bytes := a.AsSlice()
		return append(append(b, bytes...), make([]byte, addressLength-len(bytes))...)
	}
	b := make([]byte, 0, requestLength)
	b = binary.NativeEndian.AppendUint32(b, requestLength)
	b = binary.NativeEndian.AppendUint16(b, diagRequest)
	b = binary.NativeEndian.AppendUint16(b, syscall.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence and sender
	b = append(b, family, syscall.IPPROTO_TCP, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, ^uint32(0)) // in any state
	b = binary.BigEndian.AppendUint16(b, local.Port())
	b = binary.BigEndian.AppendUint16(b, remote.Port())
	b = address(address(b, from), to)
	b = binary.NativeEndian.AppendUint32(b, 0) // on any interface
	b = binary.NativeEndian.AppendUint32(b, anyCookie)
	return binary.NativeEndian.AppendUint32(b, anyCookie)
}
