// Package testbed makes tests that start processes independent of how they
// themselves are started and ended. Their TestMain calls [Prepare] first.
package testbed
