package burn

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/internal/filelock"
	"example.com/colloc/internal/regular"
	"example.com/colloc/profile"
)

// fakeDirEnv names the folder with the computing time of fake GPUs to burners.
const fakeDirEnv = "COLLOC_SWEEP_FAKE_COMPUTE"

// sharedMode is the mode of what all users use.
const sharedMode = 0o777

// account is how long one burner had the GPU, and that time weighted with the
// share of the SMs and of the memory bandwidth that it filled. It is a file in
// the folder, GPU.PID; whoever has the file GPU locked has the GPU.
type account struct {
	Busy, SM, DRAM time.Duration
}

// read reads an account; one that is not there or half written is empty.
func (a *account) read(dir *os.Root, name string) bool {
	file, err := regular.Among(dir, name, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // it was only read
	_, err = fmt.Fscan(io.LimitReader(file, int64(len(a.text()))), (*int64)(&a.Busy), (*int64)(&a.SM), (*int64)(&a.DRAM))
	return err == nil
}

// text has the same length whatever the numbers, so that writing it over an
// older one leaves no rest.
func (a *account) text() []byte {
	return fmt.Appendf(nil, "%20d %20d %20d\n", int64(a.Busy), int64(a.SM), int64(a.DRAM))
}

func (a *account) add(b account) {
	a.Busy += b.Busy
	a.SM += b.SM
	a.DRAM += b.DRAM
}

// fakeCards are the fake GPUs that a burner has, and uses alike. nil take any time and
// memory: a burner runs without the sweep, too.
type fakeCards struct {
	cards []fakeCard // in the order of their names: who locks several waits in no circle
	own   account    // on each
	free  func() error
}

// fakeCard is one of them.
type fakeCard struct{ gpu, book *os.File }

// attach opens the fake GPUs with these names, which commas part; without a folder there
// are none.
func attach(dir, names string) (*fakeCards, error) {
	if dir == "" {
		return nil, nil //nolint:nilnil // see fakeCards
	}
	c := &fakeCards{}
	for _, id := range slices.Compact(slices.Sorted(strings.SplitSeq(names, ","))) {
		card, err := openCard(dir, id)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.cards = append(c.cards, *card)
	}
	return c, nil
}

// openCard opens one fake GPU.
func openCard(dir, id string) (*fakeCard, error) {
	all, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = all.Close() }()
	gpu, err := regular.Among(all, id, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("CUDA_VISIBLE_DEVICES=%s is no fake GPU: %w", id, err)
	}
	book, err := regular.Among(all, id+"."+strconv.Itoa(os.Getpid()), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, errors.Join(err, gpu.Close())
	}
	return &fakeCard{gpu: gpu, book: book}, nil
}

// close gives everything back.
func (c *fakeCards) close() error {
	if c == nil {
		return nil
	}
	err := c.hold(0)
	for _, card := range c.cards {
		err = errors.Join(err, card.book.Close(), card.gpu.Close())
	}
	return err
}

// hold sets the memory that the burner holds on each GPU, if they have as much.
func (c *fakeCards) hold(memory profile.Bytes) error {
	if c == nil {
		return nil
	}
	if c.free != nil {
		if err := c.free(); err != nil {
			return err
		}
		c.free = nil
	}
	if memory == 0 {
		return nil
	}
	free, err := fakegpu.Allocate(memory)
	c.free = free
	return err
}

// compute has the GPUs for d, while nobody else has them.
func (c *fakeCards) compute(d time.Duration, sm float64) error {
	if c == nil {
		time.Sleep(d)
		return nil
	}
	for _, card := range c.cards {
		if err := filelock.Wait(card.gpu); err != nil {
			return err
		}
	}
	start := time.Now()
	time.Sleep(d)
	took := time.Since(start)
	c.own.add(account{Busy: took, SM: part(took, sm), DRAM: part(took, sm/2)})
	for _, card := range c.cards {
		_, err := card.book.WriteAt(c.own.text(), 0)
		if err := errors.Join(err, filelock.Release(card.gpu)); err != nil {
			return err
		}
	}
	time.Sleep(time.Microsecond) // who waits for the lock is next
	return nil
}

func part(d time.Duration, share float64) time.Duration { return time.Duration(float64(d) * share) }

// readAccounts reads the accounts of one fake GPU, by process.
func readAccounts(dir, id string) map[int]account {
	all := make(map[int]account)
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return all // no folder is nobody
	}
	defer func() { _ = folder.Close() }()
	entries, _ := fs.ReadDir(folder.FS(), ".")
	for _, e := range entries {
		owner, _ := strings.CutPrefix(e.Name(), id+".")
		var a account
		if pid, err := strconv.Atoi(owner); err == nil && a.read(folder, e.Name()) {
			all[pid] = a
		}
	}
	return all
}
