// Package rigtest is a machine with a GPU for tests, without one: the test binary plays
// the programs of it.
package rigtest
