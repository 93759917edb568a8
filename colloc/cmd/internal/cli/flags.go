package cli

import (
	"errors"
	"flag"
	"io"
	"strings"

	"example.com/colloc/profile"
)

// Bytes defines a flag that is an amount of memory.
func Bytes(flags *flag.FlagSet, to *profile.Bytes, name, usage string) {
	flags.Func(name, usage, func(s string) error {
		n, err := profile.ParseBytes(s)
		if err == nil && (n < 0 || strings.HasPrefix(s, "-")) {
			err = errors.New("want 0 or more")
		}
		*to = n
		return err
	})
}

// Parse reads the flags as package flag does, but prints nothing: the caller does.
func Parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	return flags.Parse(args)
}
