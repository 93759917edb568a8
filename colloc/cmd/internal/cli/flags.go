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

// Products defines a flag that names the product behind a site's word for a GPU, once for
// each word.
func Products(flags *flag.FlagSet, to *map[string]string, name, usage string) {
	flags.Func(name, usage, func(s string) error {
		word, product, ok := strings.Cut(s, "=")
		if _, known := profile.LookupGPU(product); !ok || !known {
			return errors.New("want TYPE=PRODUCT with a product that colloc knows, such as a100=A100-80GB")
		}
		if *to == nil {
			*to = make(map[string]string)
		}
		(*to)[word] = product
		return nil
	})
}

// Parse reads the flags as package flag does, but prints nothing: the caller does.
func Parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	return flags.Parse(args)
}
