package taskfile

import (
	"bytes"
	"encoding/json"
)

// SniffLength is how many bytes of a file are enough for [Sniff], as far as files
// are written by this package.
const SniffLength = 64 << 10

// Sniff reports whether a text begins like a task file or one of the other forms. It
// may be wrong where the first tasks come late; [Read] is not. O(length).
func Sniff(head []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))))
	over := false // an error, as at the end of what there is
	token := func() json.Token {
		t, err := decoder.Token()
		over = over || err != nil
		return t
	}
	if token() != json.Delim('{') {
		return false
	}
	for !over {
		key := token()
		switch value := token(); {
		case key == "format" && value == Format, key == "tasks" && value == json.Delim('['):
			return true
		case key == "model" && value == json.Delim('{'): // of a specification
			switch token() {
			case "name", "family", "architecture", "layers", json.Delim('}'):
				return true
			}
			return false
		case key == json.Delim('}'):
			return false
		case value == json.Delim('{') || value == json.Delim('['):
			for depth := 1; depth > 0 && !over; {
				switch token() {
				case json.Delim('{'), json.Delim('['):
					depth++
				case json.Delim('}'), json.Delim(']'):
					depth--
				}
			}
		}
	}
	return false
}
