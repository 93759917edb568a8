// Package stage shows the tests of the rooms beside it the state of a simulation in which
// tasks wait, for them to act on.
package stage
