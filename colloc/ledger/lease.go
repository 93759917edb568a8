package ledger

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"example.com/colloc/colloc"
)

// Lease is the right to a reservation, returned by [Ledger.Reserve]. It is a
// plain value: keep it, copy it, store it. Epoch and Number together are its
// name, which is never used again, whatever crashes; in JSON
//
//	{"epoch":"9f86d081884c7d65","number":7,"expires":"2026-11-22T07:30:00Z"}
type Lease struct {
	// Epoch is the life of the Ledger in which the lease was given.
	Epoch Epoch `json:"epoch"`
	// Number counts the leases of the epoch from 1.
	Number uint64 `json:"number"`
	// Expires is when it falls back unless committed, on the clock as it was
	// when the lease was made.
	Expires time.Time `json:"expires"`
}

// name is what errors call the lease.
func (given Lease) name() string {
	return fmt.Sprintf("lease %d of epoch %v", given.Number, given.Epoch)
}

// Epoch names one life of a [Ledger]: from [New] until the process ends. It is 64 random
// bits, never 0, so that a lease or a version from before a restart, or of another Ledger,
// is taken for none of this one: of a million restarts two have the same epoch with a
// probability of 3e-8. In JSON it is text, because programs that keep numbers as
// floats would round it.
type Epoch uint64

// String returns the epoch as 16 hexadecimal digits.
func (e Epoch) String() string { return fmt.Sprintf("%016x", uint64(e)) }

// MarshalText implements [encoding.TextMarshaler], as String.
func (e Epoch) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (e *Epoch) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil {
		return fmt.Errorf("ledger: epoch %q: want 16 hexadecimal digits", text)
	}
	*e = Epoch(n)
	return nil
}

// Version names one moment of the books. Versions of one epoch are ordered by
// their number; those of different epochs have nothing to do with each other.
// They can be compared with ==, stored and sent.
type Version struct {
	// Epoch is the life of the Ledger that the moment belongs to.
	Epoch Epoch `json:"epoch"`
	// Number grows with every change.
	Number uint64 `json:"number"`
}

// String returns epoch and number, separated by a colon.
func (v Version) String() string { return fmt.Sprintf("%v:%d", v.Epoch, v.Number) }

// drawEpoch draws an epoch.
func drawEpoch() Epoch {
	var bits [8]byte
	_, _ = rand.Read(bits[:]) // it never fails
	return Epoch(max(1, binary.LittleEndian.Uint64(bits[:])))
}

// Claim asks for memory of a GPU and a place in the set that shares it.
type Claim struct {
	// Task is who asks; its Reserved says for how much and must be set.
	Task colloc.Task
	// GPU is the card's ID.
	GPU string
}
