//go:build race

package runner

// raced says that processes start an order of magnitude slower.
const raced = true
