package wire

import (
	"fmt"
	"net/http"
)

// Code says what kind of thing went wrong.
type Code string

// The codes, each with the HTTP status that it goes with.
const (
	// Invalid: the request makes no sense as it is (400).
	Invalid Code = "invalid"
	// Forbidden: somebody else may, you may not (403).
	Forbidden Code = "forbidden"
	// NotFound: there is no such thing or address (404).
	NotFound Code = "not_found"
	// Conflict: it makes no sense now (409).
	Conflict Code = "conflict"
	// TooLarge: more than the server takes (413).
	TooLarge Code = "too_large"
	// OverLimit: more than this user may have (429).
	OverLimit Code = "over_limit"
	// Failed: the server could not, through no fault of the request (500).
	Failed Code = "failed"
	// Unavailable: nobody listens, or not now (503).
	Unavailable Code = "unavailable"
)

// Status is the HTTP status of the code.
func (c Code) Status() int {
	switch c {
	case Invalid:
		return http.StatusBadRequest
	case Forbidden:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case Conflict:
		return http.StatusConflict
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case OverLimit:
		return http.StatusTooManyRequests
	case Unavailable:
		return http.StatusServiceUnavailable
	case Failed:
	}
	return http.StatusInternalServerError
}

// Error is what a server answers when it does not do what it was asked.
type Error struct {
	// Code is for programs.
	Code Code `json:"code"`
	// What went wrong, Where in the request, and what to Do about it, for people.
	What  string `json:"what"`
	Where string `json:"where,omitempty"`
	Do    string `json:"do,omitempty"`
}

// Error returns where, what and what to do, in one sentence.
func (e *Error) Error() string {
	text := e.What
	if e.Where != "" {
		text = e.Where + ": " + text
	}
	if e.Do != "" {
		text += "; " + e.Do
	}
	return text
}

// Is reports whether target is an *Error of the same code that says no more: so
// errors.Is(err, &Error{Code: NotFound}) asks for the code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && *other == Error{Code: e.Code}
}

// Errorf makes an Error.
func Errorf(code Code, where, do, format string, args ...any) *Error {
	return &Error{Code: code, What: fmt.Sprintf(format, args...), Where: where, Do: do}
}
