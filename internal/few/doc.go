// Package few bounds how many connections a listener has: whoever can reach a program can make
// some, and they take descriptors and memory from what it does for others.
package few
