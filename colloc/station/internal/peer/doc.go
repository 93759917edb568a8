// Package peer says which user is at the other end of a unix socket, as the kernel tells
// it, and makes such sockets.
package peer
