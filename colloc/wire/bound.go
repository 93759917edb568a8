package wire

import (
	"encoding/json"
	"io"
	"strings"
)

// Bounded is a request that says how much it may hold. A short text may stand for much
// memory: "{}" for a whole struct. So [Read] counts before it makes anything of it.
type Bounded interface {
	// Most is how many elements the lists of a key have, those of all lists of that key
	// together. The empty key is for all values of the request; without it that is
	// [MaxValues].
	Most() map[string]int
}

// MaxValues is how many values a request holds that is not [Bounded].
const MaxValues = 1 << 20

// maxDepth is how deep values lie within others.
const maxDepth = 100

// level is an object or list that is being read.
type level struct {
	list  bool
	key   string // of a list: the one that it is counted by
	named bool   // of an object: its last key waits for its value
}

// bounded is an error if a text holds more than it may. What is no JSON ends the count:
// whoever decodes the text says what is wrong with it.
func bounded(text io.Reader, most map[string]int) error {
	d := json.NewDecoder(text)
	d.UseNumber()
	values, seen := 0, make(map[string]int)
	all, ok := most[""]
	if !ok {
		all = MaxValues
	}
	var in []level
	key := "" // the last one
	for {
		token, err := d.Token()
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			in = in[:len(in)-1]
			continue
		}
		if top := len(in) - 1; top >= 0 {
			switch l := &in[top]; {
			case l.list:
				key = l.key
				if seen[key]++; key != "" && seen[key] > most[key] {
					return Errorf(TooLarge, key, "", "%d %s, want at most %d", seen[key], key, most[key])
				}
			case !l.named:
				l.named, key = true, counted(token, most)
				continue
			default:
				l.named = false
			}
		}
		if values++; values > all {
			return Errorf(TooLarge, "", "send several requests", "the request holds more than %d values", all)
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			if in = append(in, level{list: token == json.Delim('['), key: key}); len(in) > maxDepth {
				return Errorf(Invalid, "", "", "the request is nested deeper than %d", maxDepth)
			}
		}
	}
}

// counted is the key that counts the elements of a list, or "": JSON's keys are read in
// capitals too.
func counted(token json.Token, most map[string]int) string {
	name, _ := token.(string)
	for key := range most {
		if key != "" && strings.EqualFold(key, name) {
			return key
		}
	}
	return ""
}
