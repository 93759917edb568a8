// Package kinds keeps what was seen of programs, by their kinds, for all users alike: the
// first run of a kind that nobody knows is watched while it is alone on its GPU.
package kinds
