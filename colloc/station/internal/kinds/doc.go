// Package kinds keeps what was seen of programs, by their kinds, for each user alone unless
// users share it: the first run of a kind that nobody knows is watched while it is alone on its GPU.
package kinds
