package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/internal/replace"
)

// planner is a new one, or that which an earlier collocd has written.
func (f *flags) planner() (*colloc.Planner, error) {
	config := colloc.Config{LeaveOutFaulty: true, MaxSet: f.maxSet}
	if f.state == "" {
		return colloc.New(config)
	}
	file, err := os.Open(f.state)
	if errors.Is(err, os.ErrNotExist) {
		return colloc.New(config)
	}
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	defer file.Close() //nolint:errcheck // read only
	p, err := colloc.Load(file, config)
	if err != nil {
		return nil, fmt.Errorf("-state %s: %w; move it away to begin anew", f.state, err)
	}
	return p, nil
}

// pairsFile is the file beside that of -state in which the pairs lie that are kept apart.
func (f *flags) pairsFile() string { return f.state + ".pairs" }

// pairs are those that an earlier collocd kept apart.
func (f *flags) pairs() ([]books.Pair, error) {
	text, err := os.ReadFile(f.pairsFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	var list []books.Pair
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("-state: %s: %w; move it away to begin anew", f.pairsFile(), err)
	}
	return list, nil
}

// recall tells the books what was learned by whoever decided before; nil is that nothing
// is kept. It is called when this replica begins to decide: another may have done so
// since it was started.
func (f *flags) recall(all *books.Books) func(context.Context) error {
	if f.state == "" {
		return nil
	}
	return func(context.Context) error {
		planner, err := f.planner()
		if err != nil {
			return err
		}
		pairs, err := f.pairs()
		if err != nil {
			return err
		}
		all.Use(planner)
		all.Restore(pairs)
		return nil
	}
}

// keeper keeps what was learned, if there is a file for it.
type keeper struct {
	flags *flags
	books *books.Books
	kept  int // lessons that the files tell of
}

// keep writes the files if there is more to tell than they do; what fails is tried again.
func (k *keeper) keep(learned int) error {
	if k.flags.state == "" || learned == k.kept {
		return nil
	}
	err := errors.Join(
		replace.File(k.flags.state, func(file *os.File) error { return errors.Join(k.books.Planner().Save(file), file.Sync()) }),
		replace.File(k.flags.pairsFile(), func(file *os.File) error {
			return errors.Join(json.NewEncoder(file).Encode(k.books.Parted()), file.Sync())
		}))
	if err != nil {
		return fmt.Errorf("-state: %w", err)
	}
	k.kept = learned
	return nil
}
