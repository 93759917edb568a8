// Command tables makes the tables of docs/policies anew, and the picture of docs/policies.md
// from them. Each file of the folder holds its commands, after "$ ", and what they print:
//
//	COLLOC_DATA=DIR go run ./internal/tables [-proofs DIR] [NAME...]
//
// Without names all are made, in a quarter of an hour on two cores; with -proofs what was proven
// of a day before is checked instead of found anew. "-draw" draws the picture alone.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"example.com/colloc/internal/replace"
)

const (
	folder  = "docs/policies"
	picture = "docs/policies.svg"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("tables", flag.ContinueOnError)
	proofs := f.String("proofs", "", "keep proofs of bounds in the folder `DIR`")
	only := f.Bool("draw", false, "draw the picture alone")
	if err := f.Parse(args); err != nil {
		return err
	}
	files, err := read(folder)
	if err != nil {
		return err
	}
	if !*only {
		bin, err := os.MkdirTemp("", "tables-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(bin) }()
		build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./colloc/cmd/colloc")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return err
		}
		for _, file := range files {
			if f.NArg() > 0 && !slices.Contains(f.Args(), file.name) {
				continue
			}
			for i := range file.studies {
				if err := file.studies[i].run(ctx, bin, *proofs); err != nil {
					return fmt.Errorf("%s: %w", file.name, err)
				}
			}
			if err := replace.Text(filepath.Join(folder, file.name+".txt"), file.text()); err != nil {
				return err
			}
		}
	}
	return replace.Text(picture, draw(files))
}

// run runs a study's command and keeps what it prints.
func (s *study) run(ctx context.Context, bin, proofs string) error {
	command := s.command
	if proofs != "" {
		command = strings.Replace(command, " -bound", " -bound -proofs '"+proofs+"'", 1)
	}
	c := exec.CommandContext(ctx, "bash", "-euc", command)
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", s.command, err)
	}
	s.printed = strings.TrimRight(out.String(), "\n")
	return nil
}
