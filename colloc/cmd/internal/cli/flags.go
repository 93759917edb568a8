package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

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

// Restart defines the flag that says what it costs to stop a task and start it again.
func Restart(flags *flag.FlagSet, to func(cost time.Duration)) {
	const usage = "it may be stopped for others, and goes on from what it saved: that costs about `TIME`; default is never"
	flags.Func("restart", usage, func(s string) error {
		cost, err := time.ParseDuration(s)
		if err == nil && cost < 0 {
			err = errors.New("want 0s or more")
		}
		to(cost)
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

// Parser is [ParsePart] of a program.
type Parser func(flags *flag.FlagSet, args []string, operands, about string) error

// ParsePart is [Parse] for a subcommand of a program; operands is what follows its flags, for the help.
func ParsePart(flags *flag.FlagSet, args []string, w io.Writer, program, operands, about string) error {
	return Parse(flags, args, w, fmt.Sprintf("usage: colloc %s [flags]%s\n\n%s\n\nflags:\n", program+" "+flags.Name(), operands, about), "")
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

// Parse reads the flags as package flag does, and prints nothing but the help, for -h, on w: a text, the flags, and what
// follows them. An error is [flag.ErrHelp] or [ErrUsage].
func Parse(flags *flag.FlagSet, args []string, w io.Writer, before, after string) error {
	flags.SetOutput(io.Discard)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(w, before)
		flags.SetOutput(w)
		flags.PrintDefaults()
		fmt.Fprint(w, after)
		return err
	case err != nil:
		return Usage("%w; see -h", wanted(flags, err))
	}
	return nil
}

// wanted is an error of package flag, with what the flag takes where that says "parse error" and no more.
func wanted(flags *flag.FlagSet, err error) error {
	text, bare := strings.CutSuffix(err.Error(), "parse error")
	_, name, named := strings.Cut(text[strings.LastIndex(text, " for flag -")+1:], "-")
	f := flags.Lookup(strings.TrimSuffix(name, ": "))
	if !bare || !named || f == nil {
		return err
	}
	want := "a number"
	if value, ok := f.Value.(flag.Getter); ok {
		if _, ok := value.Get().(time.Duration); ok {
			want = "a time with its unit, such as 90s or 2h"
		}
	}
	return errors.New(text + "want " + want)
}
