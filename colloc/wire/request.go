package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
)

// Streamed is a request that is one list and nothing else, {"KEY": [...]}. [Read] hands it
// the elements one at a time, so that not all of them are there as text twice.
type Streamed interface {
	// Stream begins with no elements, and returns the key of the list and what reads the next one.
	Stream() (key string, next func(*json.Decoder) error)
}

// Read reads the JSON of a request. Unknown fields and what follows the value are errors,
// and so is more than a [Bounded] request may hold. The caller bounds the body, with
// http.MaxBytesReader.
func Read(r *http.Request, to any) error {
	var text pieces
	_, err := io.Copy(&text, r.Body)
	if err == nil {
		var most map[string]int
		if b, ok := to.(Bounded); ok {
			most = b.Most()
		}
		if err := bounded(text.reader(), most); err != nil {
			return err
		}
		err = decode(text, to)
	}
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return Errorf(TooLarge, "", "send several requests", "the request is longer than %d bytes", large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Errorf(Invalid, r.Method+" "+r.URL.Path, "send it at once", "the body took too long to arrive")
	}
	return Errorf(Invalid, r.Method+" "+r.URL.Path, "", "the body is not understood: %v", err)
}

// pieces are a text as it came: one piece that grows is there twice.
type pieces [][]byte

// Write implements [io.Writer].
func (p *pieces) Write(b []byte) (int, error) {
	*p = append(*p, bytes.Clone(b))
	return len(b), nil
}

func (p pieces) reader() io.Reader {
	b := net.Buffers(slices.Clone(p))
	return &b
}

// decode makes a value of a text that holds that alone.
func decode(text pieces, to any) error {
	if s, ok := to.(Streamed); ok {
		if stream(text, s) {
			return nil
		}
		s.Stream() // whoever reads it whole says what is wrong with it
	}
	d := strict(text)
	err := d.Decode(to)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = errors.New("there is more text behind it")
		}
	}
	return err
}

func strict(text pieces) *json.Decoder {
	d := json.NewDecoder(text.reader())
	d.DisallowUnknownFields()
	return d
}

// stream reads the elements of a list one by one, if there is nothing else in the text.
func stream(text pieces, to Streamed) bool {
	d := strict(text)
	key, next := to.Stream()
	are := func(tokens ...json.Token) bool {
		return !slices.ContainsFunc(tokens, func(want json.Token) bool {
			got, err := d.Token()
			return err != nil || got != want
		})
	}
	if !are(json.Delim('{'), key, json.Delim('[')) {
		return false
	}
	for d.More() {
		if next(d) != nil {
			return false
		}
	}
	if !are(json.Delim(']'), json.Delim('}')) {
		return false
	}
	_, err := d.Token()
	return errors.Is(err, io.EOF)
}

// Answer writes a value as JSON; one that JSON cannot say is refused as [Failed].
func Answer(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		Refuse(w, err)
		return
	}
	write(w, http.StatusOK, text)
}

// Refuse writes an error, as [Failed] if it is no [*Error].
func Refuse(w http.ResponseWriter, err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = Errorf(Failed, "", "", "%v", err)
	}
	text, _ := json.Marshal(e) // it is nothing but text
	write(w, e.Code.Status(), text)
}

func write(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client is gone
}
