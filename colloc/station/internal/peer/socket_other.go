//go:build !linux

package peer

import (
	"errors"
	"net"
)

var errUnsupported = errors.New("unsupported on this system")

// Of asks the kernel who made a connection.
func Of(net.Conn) (User, error) { return User{}, errUnsupported }

// Listen makes a unix socket.
func Listen(string, bool) (net.Listener, error) { return nil, errUnsupported }

// Keeps is an error if somebody else could put something into a folder.
func Keeps(string) error { return errUnsupported }
