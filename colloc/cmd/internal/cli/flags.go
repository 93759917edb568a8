package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
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

// Overwrites is an error if the file that a flag says to write is one that is read.
func Overwrites(flag, out string, in ...string) error {
	to, err := os.Stat(out)
	if err != nil || !to.Mode().IsRegular() {
		return nil //nolint:nilerr // what is not there yet is not read
	}
	for _, path := range in {
		if from, err := os.Stat(path); err == nil && os.SameFile(from, to) {
			return fmt.Errorf("-%s %s is read, too: write another file", flag, out)
		}
	}
	return nil
}

// Parse reads the flags as package flag does, but prints nothing: the caller does.
func Parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	return flags.Parse(args)
}
