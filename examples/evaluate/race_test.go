//go:build race

package main

// underRace says that every memory access is checked, which makes a fit ten
// times as slow.
const underRace = true
