package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
)

// Read reads the JSON of a request. Unknown fields and what follows the value are errors,
// and so is more than a [Bounded] request may hold. The caller bounds the body, with
// http.MaxBytesReader.
func Read(r *http.Request, to any) error {
	text, err := io.ReadAll(r.Body)
	if err == nil {
		var most map[string]int
		if b, ok := to.(Bounded); ok {
			most = b.Most()
		}
		if err := bounded(text, most); err != nil {
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

// decode makes a value of a text that holds that alone.
func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
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
