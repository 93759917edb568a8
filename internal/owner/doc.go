// Package owner tells whose a file is, and whose the other end of a connection.
package owner
