// Package testbed makes tests that start processes independent of how they
// themselves are started and ended. Their TestMain calls [Prepare] first.
// Those that limit their process, or would end its session, run in one of their own: Alone.
package testbed
