package api

import "example.com/colloc/colloc/wire"

// Error is what a station answers when it does not do what it was asked.
type Error = wire.Error

// Code says what kind of thing went wrong.
type Code = wire.Code

// The codes, as package wire explains them.
const (
	Invalid     = wire.Invalid
	Forbidden   = wire.Forbidden
	NotFound    = wire.NotFound
	Conflict    = wire.Conflict
	TooLarge    = wire.TooLarge
	OverLimit   = wire.OverLimit
	Failed      = wire.Failed
	Unavailable = wire.Unavailable
)

// Errorf makes an Error.
func Errorf(code Code, where, do, format string, args ...any) *Error {
	return wire.Errorf(code, where, do, format, args...)
}
