package shared

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/internal/replace"
	"example.com/colloc/profile"
)

// Run is what one run holds of one GPU.
type Run struct {
	GPU      string        `json:"gpu"`
	Reserved profile.Bytes `json:"reserved"`
	// Process is the task's; its zero if it is only starting.
	Process supervise.Process `json:"process,omitzero"`
}

// page is what one runner holds; nobody else writes it.
type page struct {
	Owner supervise.Process `json:"owner"`
	Runs  []Run             `json:"runs"`
}

// Book is the folder with a page for each runner. It is not safe for concurrent use.
type Book struct {
	dir   string
	owner supervise.Process
	page  string // its file
	lock  io.Closer
	last  []byte // what was written
}

const pageEnd = ".json"

// books counts those of this process.
//
//nolint:gochecknoglobals // two books of one process need two names
var books atomic.Int64

// Open opens the book in a folder that is made with mode 0700; one that others may
// write to is refused.
func Open(dir string) (*Book, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %o, want 700: it holds what runners trust", dir, mode)
	}
	owner, err := supervise.Find(os.Getpid())
	name := fmt.Sprintf("%d-%d-%d%s", owner.PID, owner.Start, books.Add(1), pageEnd)
	return &Book{dir: dir, owner: owner, page: filepath.Join(dir, name)}, err
}

// Hold keeps other runners out until Release and returns what they hold; ErrInUse if
// one of them is at it. Runs of which nothing lives any more do not count.
func (b *Book) Hold() (others []Run, err error) {
	if b.lock, err = supervise.Lock(b.dir); err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(b.dir, "*"+pageEnd))
	if err != nil {
		return nil, errors.Join(err, b.unlock())
	}
	for _, name := range names {
		if name != b.page {
			others = append(others, read(name)...)
		}
	}
	return others, nil
}

// read returns the runs of a page that live, and removes a page that has none and no
// runner. One that cannot be read is nobody's.
func read(name string) (runs []Run) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	var p page
	if json.Unmarshal(text, &p) != nil {
		p = page{}
	}
	lives := p.Owner.Alive()
	for _, run := range p.Runs {
		if run.Process.PID != 0 && run.Process.Alive() || run.Process.PID == 0 && lives {
			runs = append(runs, run)
		}
	}
	if !lives && len(runs) == 0 {
		_ = os.Remove(name) // the next one tries again
	}
	return runs
}

// Release writes what this runner holds and lets the others in.
func (b *Book) Release(own []Run) error { return errors.Join(b.write(own), b.unlock()) }

// Leave writes what stays when this runner goes, and removes its page if that is
// nothing. It needs no Hold: it takes nothing new, and others see either page whole.
func (b *Book) Leave(own []Run) error {
	if len(own) > 0 {
		return b.write(own)
	}
	err := os.Remove(b.page)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (b *Book) write(own []Run) error {
	text, err := json.Marshal(page{Owner: b.owner, Runs: own})
	if err != nil || bytes.Equal(text, b.last) {
		return err
	}
	if err = replace.Text(b.page, text); err == nil {
		b.last = text
	}
	return err
}

func (b *Book) unlock() error { return b.lock.Close() }
