// Package simtest checks scheduling policies, ours or anybody's, against the
// rules that every scheduler must keep. It is apart from package sim so that
// programs that simulate do not link package testing.
package simtest
