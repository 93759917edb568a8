// Package session measures cells on a rig, one after the other, into a raw file, and goes
// on where an earlier session stopped. A cell counts only if nobody else was there.
package session
