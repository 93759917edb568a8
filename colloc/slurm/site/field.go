package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile"
)

// number is a number as any version writes it: 5, null, "5", or, from 23.02 on,
// {"set": true, "infinite": false, "number": 5}. Missing and infinite numbers
// are not set.
type number struct {
	value float64
	set   bool
}

// UnmarshalJSON implements json.Unmarshaler. What is no number is not set: the
// field's meaning has changed more often than its name.
func (n *number) UnmarshalJSON(text []byte) error {
	*n = number{}
	if text[0] != '{' {
		v, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
		if err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
			*n = number{v, true}
		}
		return nil
	}
	var wrapped struct {
		Set      *bool    `json:"set"`
		Infinite bool     `json:"infinite"`
		Number   *float64 `json:"number"`
	}
	if err := json.Unmarshal(text, &wrapped); err != nil || wrapped.Number == nil {
		return nil //nolint:nilerr // an object of another kind is no number
	}
	if (wrapped.Set == nil || *wrapped.Set) && !wrapped.Infinite {
		*n = number{*wrapped.Number, true}
	}
	return nil
}

// int64 returns the number, 0 if it is not set or holds no whole number.
func (n number) int64() int64 {
	if !n.set || n.value < -(1<<53) || n.value > 1<<53 {
		return 0
	}
	return int64(n.value)
}

// count returns the number as a size, 0 if it is none.
func (n number) count() int {
	return int(max(0, min(n.int64(), math.MaxInt32)))
}

// time returns the number as seconds since 1970; the zero time for 0 and for Slurm's
// own numbers for none, the largest two of 32 bits.
func (n number) time() time.Time {
	if n.int64() <= 0 || n.int64() == math.MaxUint32-1 || n.int64() == math.MaxUint32 {
		return time.Time{}
	}
	return time.Unix(n.int64(), 0).UTC()
}

// minutes returns a time limit; 0 is none, and so are Slurm's own numbers for
// none and for no end, the largest two of 32 bits.
func (n number) minutes() time.Duration {
	const most = math.MaxInt64 / int64(time.Minute)
	if n.int64() >= math.MaxUint32-1 {
		return 0
	}
	return time.Duration(max(0, min(n.int64(), most))) * time.Minute
}

// mebibytes returns memory, 64 PiB at most.
func (n number) mebibytes() profile.Bytes {
	return profile.Bytes(max(0, min(n.int64(), 1<<36))) * profile.MiB
}

// someMebibytes returns memory; 0 for Slurm's own numbers for none and for no end, the
// largest two of 32 and of 64 bits, with and without the bit that says "for each CPU".
func (n number) someMebibytes() profile.Bytes {
	if n.int64() <= 0 || n.int64() >= math.MaxUint32-1 {
		return 0
	}
	return n.mebibytes()
}

// words are strings as any version writes them: "A", "A,B" or ["A", "B"].
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(text []byte) error {
	*w = nil
	switch text[0] {
	case '[':
		var list []any
		if err := json.Unmarshal(text, &list); err != nil {
			return err
		}
		for _, v := range list {
			if s, ok := v.(string); ok && s != "" {
				*w = append(*w, s)
			}
		}
	case '"':
		var s string
		err := json.Unmarshal(text, &s)
		*w = splitList(s)
		return err
	}
	return nil
}

// splitList splits at commas and drops what is empty.
func splitList(s string) []string {
	var list []string
	for s := range strings.SplitSeq(s, ",") {
		if s != "" {
			list = append(list, s)
		}
	}
	return list
}

// text is a string; null and what is no string are empty.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(raw []byte) error {
	*t = ""
	if raw[0] != '"' {
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// texts is a list in which places count; what is none has no elements.
type texts []text

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(raw []byte) error {
	*t = nil
	if raw[0] != '[' {
		return nil
	}
	return json.Unmarshal(raw, (*[]text)(t))
}

// exitStatus is how a job ended: up to 23.02 the status that wait returns, from
// then on {"return_code": 3, "signal": {"id": 9}}.
type exitStatus struct{ code, signal int }

// UnmarshalJSON implements json.Unmarshaler.
func (e *exitStatus) UnmarshalJSON(raw []byte) error {
	*e = exitStatus{}
	if bytes.Contains(raw, []byte(`"return_code"`)) {
		var parts struct {
			Code   number `json:"return_code"`
			Signal struct {
				ID   number `json:"id"`
				Old  number `json:"signal_id"`
				Name text   `json:"name"`
			} `json:"signal"`
		}
		if err := json.Unmarshal(raw, &parts); err != nil {
			return nil //nolint:nilerr // a shape to come says nothing rather than stopping everything
		}
		*e = exitStatus{parts.Code.count(), max(parts.Signal.ID.count(), parts.Signal.Old.count())}
		return nil
	}
	var n number
	_ = n.UnmarshalJSON(raw) // never fails
	status := n.int64()
	*e = exitStatus{int(status >> 8 & 0xff), int(status & 0x7f)}
	return nil
}

// envelope is what every answer has around its data.
type envelope struct {
	Errors []failure `json:"errors"`
}

// failure is one error of an answer.
type failure struct {
	Description text   `json:"description"`
	Error       text   `json:"error"`
	Source      text   `json:"source"`
	Number      number `json:"error_number"`
	Old         number `json:"error_code"`
	Older       number `json:"errno"`
}

// code is Slurm's number of it, under the name that the version gives it.
func (f *failure) code() int64 { return max(f.Number.int64(), f.Old.int64(), f.Older.int64()) }

// named reports whether it says more than that something failed: SLURM_ERROR, -1.
func named(f failure) bool {
	return !strings.EqualFold(string(f.Error), "Unspecified error") || f.code() > 0
}

// said returns the errors that the answer itself reports, empty if there are
// none: the commands end with status 0 when the controller is down.
func (e envelope) said() string {
	var said []string
	for _, f := range e.Errors {
		parts := make([]string, 0, 3)
		for _, p := range []text{f.Source, f.Description, f.Error} {
			if p != "" {
				parts = append(parts, string(p))
			}
		}
		if len(parts) == 0 {
			parts = append(parts, fmt.Sprintf("error %d", f.code()))
		}
		said = append(said, strings.Join(parts, ": "))
	}
	return Clip(strings.Join(said, "; "))
}

// decode reads one answer and reports what stands after it.
func decode(data []byte, into any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("nothing was printed, want JSON: is the command older than Slurm 21.08?")
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("JSON: %w", err)
	}
	return nil
}
