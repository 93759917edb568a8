// Package mailbox hands events to who listens, one after the other, so that nobody
// who holds a lock waits for it.
package mailbox
