// Package words says why a pod waits, for people: how many nodes and cards are not there
// for it, by what for.
package words
