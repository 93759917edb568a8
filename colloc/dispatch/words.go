package dispatch

import "example.com/colloc/internal/enum"

// The enumerations are words in JSON, in these orders; 0 is the empty word.
//
//nolint:gochecknoglobals // read-only name tables of the enumerations
var (
	verbWords  = enum.Of("dispatch: verb", "", "start", "stop", "give up")
	howWords   = enum.Of("dispatch: how", "", "done", "failed", "out of memory", "stopped", "lost")
	codeWords  = enum.Of("dispatch: code", "", "runs", "starts", "clears", "stops", "held", "after", "refused", "quota", "limit", "reserved", "share", "room")
	phaseWords = enum.Of("dispatch: phase", "", "granted", "starting", "running", "stopping")
)

// String returns "start", "stop" or "give up".
func (v Verb) String() string { return verbWords.Text(int(v)) }

// MarshalText returns the word; 0 has none.
func (v Verb) MarshalText() ([]byte, error) { return verbWords.Marshal(int(v)) }

// UnmarshalText reads the word.
func (v *Verb) UnmarshalText(b []byte) error { return enum.Parse(verbWords, b, v) }

// String returns a word such as "out of memory".
func (h How) String() string { return howWords.Text(int(h)) }

// MarshalText returns the word; 0 has none.
func (h How) MarshalText() ([]byte, error) { return howWords.Marshal(int(h)) }

// UnmarshalText reads the word.
func (h *How) UnmarshalText(b []byte) error { return enum.Parse(howWords, b, h) }

// String returns a word such as "held".
func (c Code) String() string { return codeWords.Text(int(c)) }

// MarshalText returns the word; 0 has none.
func (c Code) MarshalText() ([]byte, error) { return codeWords.Marshal(int(c)) }

// UnmarshalText reads the word.
func (c *Code) UnmarshalText(b []byte) error { return enum.Parse(codeWords, b, c) }

func (p phase) MarshalText() ([]byte, error)  { return phaseWords.Marshal(int(p)) }
func (p *phase) UnmarshalText(b []byte) error { return enum.Parse(phaseWords, b, p) }
