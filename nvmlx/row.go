package nvmlx

import (
	"strconv"
	"time"

	"example.com/colloc/profile"
)

// rowScanner reads the rows that Record writes most, flat objects of numbers and
// plain texts, several times faster than encoding/json and without allocating.
// It gives up on everything else, so that there is one definition of what a row
// means: encoding/json's.
type rowScanner struct {
	text []byte
	at   int
	ids  map[DeviceID]DeviceID // one copy of each ID
}

// scan reads text as a sample into an empty row. If it returns false, nothing
// can be said about the text, and the row holds rubbish.
func (s *rowScanner) scan(text []byte, row *traceRow) bool {
	s.text, s.at = text, 0
	if !s.take('{') {
		return false
	}
	for {
		key, ok := s.quoted()
		if !ok || !s.take(':') || !s.value(key, row) {
			return false
		}
		if s.take(',') {
			continue
		}
		return s.take('}') && s.at == len(s.text)
	}
}

// take skips one character if it comes next.
func (s *rowScanner) take(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// quoted returns the inside of a text without escapes, in printable ASCII.
func (s *rowScanner) quoted() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	start := s.at
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return s.text[start : s.at-1], true
		case c == '\\', c < ' ', c > '~':
			return nil, false
		}
	}
	return nil, false
}

// number returns the characters of a JSON number: an optional minus, an integer
// without leading zeros, and what strconv then checks.
func (s *rowScanner) number() ([]byte, bool) {
	start := s.at
	s.take('-')
	digits := s.digits()
	if digits == 0 || digits > 1 && s.text[s.at-digits] == '0' {
		return nil, false
	}
	if s.take('.') && s.digits() == 0 {
		return nil, false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		if s.digits() == 0 {
			return nil, false
		}
	}
	return s.text[start:s.at], true
}

func (s *rowScanner) digits() int {
	start := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at - start
}

// value reads the value of a key.
func (s *rowScanner) value(key []byte, row *traceRow) bool {
	switch string(key) {
	case "device":
		id, ok := s.quoted()
		row.Device, ok = s.ids[DeviceID(id)], ok && len(id) > 0
		return ok && row.Device != ""
	case "at":
		at, ok := s.quoted()
		return ok && row.At.UnmarshalText(at) == nil
	case "window":
		n, ok := s.integer()
		row.Window = time.Duration(n)
		return ok
	}
	f := fieldNamed(key)
	if x := row.float(f); x != nil {
		text, ok := s.number()
		if !ok {
			return false
		}
		v, err := strconv.ParseFloat(string(text), 64)
		*x = profile.Some(v)
		return err == nil
	}
	n, ok := s.integer()
	switch f {
	case FieldMemUsed:
		row.MemUsed = profile.Some(profile.Bytes(n))
		return ok && n >= 0 && n < 1<<53 // beyond, profile.Bytes rounds
	case FieldThrottle:
		row.Throttle = profile.Some(Throttle(n))
		return ok && n >= 0
	case FieldStepTime:
		row.StepTime = profile.Some(time.Duration(n))
		return ok
	default:
		return false
	}
}

func (s *rowScanner) integer() (int64, bool) {
	text, ok := s.number()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}

// fieldNamed is fieldOf without a conversion that allocates.
func fieldNamed(key []byte) Fields {
	for i := range fieldKeys {
		if fieldKeys[i] == string(key) {
			return 1 << i
		}
	}
	return 0
}
