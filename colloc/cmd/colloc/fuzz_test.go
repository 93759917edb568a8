package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"example.com/colloc/colloc/cmd/internal/cli"
)

// FuzzFlags gives every flag of every command a value, and every command a line of arguments: each is taken, or refused as wrong
// usage; what is refused is said in a line or two.
func FuzzFlags(f *testing.F) {
	for _, value := range []string{
		"", "1", "-1", "99999999999999999999", "nan", "1e400", "0x", "6GiB", "-6GiB", "8388608TiB", "90s", "-90s", "9999999h", "18:00", "2026-03-14", "a=b", "=", "a=,", "lr=1e-4..1e-1:x10",
		"s=0..99999999999", "x=1..2:0", "x=1..2:x1", "now,fail=101%", "USR2@120", "a100:1=210", "A100=A100-40GB", "ann:gpus=8,high", "0,0,0", "(?P<step>", "{}{{", "$(x)", "'", "\x00\x1b[31m", "-h", "--", "-n\x00-n=1",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var try func(name string, p cli.Program)
		try = func(name string, p cli.Program) {
			for _, part := range p.Parts {
				try(name+" "+part.Name, part)
			}
			if p.Flags == nil {
				return
			}
			p.Flags().VisitAll(func(fl *flag.Flag) {
				if err := p.Flags().Set(fl.Name, value); err != nil && (err.Error() == "" || strings.HasPrefix(err.Error(), "%!")) {
					t.Errorf("%s -%s %q: %q", name, fl.Name, value, err)
				}
				_ = fl.Value.String() // as the help shows it
			})
			err := cli.Parse(p.Flags(), strings.Split(value, "\x00"), io.Discard, "", "")
			if err != nil && !errors.Is(err, cli.ErrUsage) && !errors.Is(err, flag.ErrHelp) {
				t.Errorf("%s %q: %v", name, value, err)
			}
		}
		for _, p := range programs() {
			try(p.Name, p)
		}
	})
}
