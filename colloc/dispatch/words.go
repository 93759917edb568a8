package dispatch

import "fmt"

// The enumerations are words in JSON, in these orders.

func verbWords() []string { return []string{"start", "stop", "give up"} }

func howWords() []string { return []string{"done", "failed", "out of memory", "stopped", "lost"} }

func codeWords() []string {
	return []string{"runs", "starts", "clears", "stops", "held", "after", "refused", "quota", "limit", "reserved", "share", "room"}
}

func phaseWords() []string { return []string{"granted", "starting", "running", "stopping"} }

// word is that of a value counted from 1.
func word(words []string, v uint8) string {
	if v < 1 || int(v) > len(words) {
		return "unknown"
	}
	return words[v-1]
}

// text is word for JSON; 0 is the empty word.
func text(words []string, v uint8) ([]byte, error) {
	if int(v) > len(words) {
		return nil, fmt.Errorf("dispatch: %d is none of %q", v, words)
	}
	if v == 0 {
		return nil, nil
	}
	return []byte(words[v-1]), nil
}

// parse is the value of a word.
func parse[T ~uint8](words []string, word []byte, into *T) error {
	if len(word) == 0 {
		*into = 0
		return nil
	}
	for i, w := range words {
		if w == string(word) {
			*into = T(i + 1)
			return nil
		}
	}
	return fmt.Errorf("dispatch: %w: %.100q is none of %q", ErrInvalid, word, words)
}

// String returns "start", "stop" or "give up".
func (v Verb) String() string { return word(verbWords(), uint8(v)) }

// MarshalText returns the word; 0 has none.
func (v Verb) MarshalText() ([]byte, error) { return text(verbWords(), uint8(v)) }

// UnmarshalText reads the word.
func (v *Verb) UnmarshalText(b []byte) error { return parse(verbWords(), b, v) }

// String returns a word such as "out of memory".
func (h How) String() string { return word(howWords(), uint8(h)) }

// MarshalText returns the word; 0 has none.
func (h How) MarshalText() ([]byte, error) { return text(howWords(), uint8(h)) }

// UnmarshalText reads the word.
func (h *How) UnmarshalText(b []byte) error { return parse(howWords(), b, h) }

// String returns a word such as "held".
func (c Code) String() string { return word(codeWords(), uint8(c)) }

// MarshalText returns the word; 0 has none.
func (c Code) MarshalText() ([]byte, error) { return text(codeWords(), uint8(c)) }

// UnmarshalText reads the word.
func (c *Code) UnmarshalText(b []byte) error { return parse(codeWords(), b, c) }

func (p phase) MarshalText() ([]byte, error)  { return text(phaseWords(), uint8(p)) }
func (p *phase) UnmarshalText(b []byte) error { return parse(phaseWords(), b, p) }
