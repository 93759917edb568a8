package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
)

// scheduler is first come, first served; colloc says where. All that must outlive it is
// in two files: what runs, and what was learned.
type scheduler struct {
	dir     string
	planner *colloc.Planner
	books   *ledger.Ledger
	start   func(t colloc.Task, gpus []string) error // of whatever runs tasks
	queue   []colloc.Task
	coRuns  int // seen
	fitted  int // of them
}

// open goes on where the files in dir end. gpus are all that the cluster ever had, with
// what runs there now: that is true, whatever the files say. Tell it next which nodes
// are lost, and submit again what waits.
func open(dir string, gpus []colloc.GPU, now func() time.Time, start func(colloc.Task, []string) error) (*scheduler, error) {
	s := &scheduler{dir: dir, start: start}
	var err error
	if s.planner, err = restore(s.file("learned"), func(r io.Reader) (*colloc.Planner, error) { return colloc.Load(r, colloc.Config{}) },
		func() (*colloc.Planner, error) { return colloc.New(colloc.Config{}) }); err != nil {
		return nil, err
	}
	runs, known := map[string]bool{}, ledger.Config{GPUs: gpus, Now: now}
	for _, g := range gpus {
		for _, t := range g.Residents {
			runs[t.ID] = true
		}
	}
	if s.books, err = restore(s.file("books"), func(r io.Reader) (*ledger.Ledger, error) { return ledger.Load(r, known) },
		func() (*ledger.Ledger, error) { return ledger.New(known) }); err != nil {
		return nil, err
	}
	for _, g := range s.books.Snapshot().GPUs {
		for _, t := range g.Residents {
			if !runs[t.ID] { // it ended while nobody looked
				if err := s.release(t.ID); err != nil {
					return nil, err
				}
			}
		}
	}
	return s, keep(s.file("books"), s.books.Save)
}

func (s *scheduler) file(name string) string { return filepath.Join(s.dir, name+".json") }

// submit starts a task now or lets it wait. One that runs since before a restart stays.
func (s *scheduler) submit(ctx context.Context, t colloc.Task) error {
	placed, err := s.place(ctx, t)
	if !placed && err == nil {
		s.queue = append(s.queue, t)
	}
	return errors.Join(err, keep(s.file("books"), s.books.Save))
}

// round starts every waiting task for which there is a place.
func (s *scheduler) round(ctx context.Context) error {
	var waiting []colloc.Task
	for i, t := range s.queue {
		placed, err := s.place(ctx, t)
		if err != nil {
			s.queue = append(waiting, s.queue[i:]...)
			return err
		}
		if !placed {
			waiting = append(waiting, t)
		}
	}
	s.queue = waiting
	return keep(s.file("books"), s.books.Save)
}

// place reserves the best place, starts the task and commits.
func (s *scheduler) place(ctx context.Context, t colloc.Task) (bool, error) {
	placed, err := s.books.Place(ctx, s.planner, t)
	var full *ledger.UnplacedError
	switch {
	case errors.As(err, &full):
		return false, nil
	case errors.Is(err, ledger.ErrDuplicate):
		return true, nil
	case err != nil:
		return false, err
	}
	t.Reserved = placed.Verdict.Reserved
	if err := s.start(t, placed.GPUs); err != nil {
		return false, errors.Join(err, s.books.Rollback(placed.Lease))
	}
	return true, s.books.Commit(placed.Lease)
}

// ended gives the place of a task back, learns from what was seen of its set, and fits
// the models anew now and then.
func (s *scheduler) ended(ctx context.Context, id string, seen colloc.Observation) error {
	if len(seen.Members) > 0 {
		if err := s.planner.Observe(seen); err != nil {
			return err
		}
	}
	if len(seen.Members) > 1 {
		if s.coRuns++; s.coRuns >= 50+2*s.fitted {
			s.fitted = s.coRuns
			if err := s.planner.Refit(ctx); err != nil {
				return err
			}
		}
		if s.coRuns%10 == 0 {
			if err := keep(s.file("learned"), s.planner.Save); err != nil {
				return err
			}
		}
	}
	return errors.Join(s.release(id), s.round(ctx))
}

// release is Release of a task that may be gone already.
func (s *scheduler) release(id string) error {
	if err := s.books.Release(id); !errors.Is(err, ledger.ErrUnknown) {
		return err
	}
	return nil
}

// lost takes a node out and lets its tasks wait again, gangs as a whole, first in line.
func (s *scheduler) lost(ctx context.Context, gpus ...string) error {
	claims, err := s.books.RemoveGPU(gpus...)
	if err != nil {
		return err
	}
	var again []colloc.Task
	for _, c := range claims {
		if err := s.release(c.Task.ID); err != nil { // the rest of a gang, on other nodes
			return err
		}
		c.Task.Reserved = 0
		if !slices.ContainsFunc(again, func(t colloc.Task) bool { return t.ID == c.Task.ID }) {
			again = append(again, c.Task)
		}
	}
	s.queue = append(again, s.queue...)
	if err := keep(s.file("books"), s.books.Save); err != nil { // before any of them starts elsewhere
		return err
	}
	return s.round(ctx)
}

// back takes a node in.
func (s *scheduler) back(ctx context.Context, gpus ...colloc.GPU) error {
	for _, g := range gpus {
		if err := s.books.AddGPU(g); err != nil {
			return err
		}
	}
	return s.round(ctx)
}

// keep writes a file as a whole or not at all.
func keep(path string, save func(io.Writer) error) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	if err := errors.Join(save(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// restore reads a file, or begins anew where there is none.
func restore[T any](path string, load func(io.Reader) (T, error), fresh func() (T, error)) (T, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh()
	}
	if err != nil {
		return *new(T), err
	}
	defer f.Close()
	return load(f)
}
