package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

// crashBooks is what a shadow of the books knows of them, and of a saved file:
// who holds what, and which lease is open.
type crashBooks struct {
	gpu  map[string]string                  // by task
	open map[ledger.Lease]string            // its task
	done map[ledger.Lease]map[string]string // committed: the task, while it is in the books
}

func (b *crashBooks) clone() *crashBooks {
	c := &crashBooks{gpu: maps.Clone(b.gpu), open: maps.Clone(b.open), done: make(map[ledger.Lease]map[string]string)}
	for l, tasks := range b.done {
		c.done[l] = maps.Clone(tasks)
	}
	return c
}

// crashLedger is a Ledger that runs, with its shadow.
type crashLedger struct {
	*ledger.Ledger
	books *crashBooks
}

// crashMachine remembers every lease and every version that was ever given.
type crashMachine struct {
	config   ledger.Config
	running  []*crashLedger // all live at once; some were loaded from the same file
	files    []string
	saved    []*crashBooks // by file
	leases   []ledger.Lease
	versions []ledger.Version
	tasks    int
}

func (m *crashMachine) pick(t *rapid.T) *crashLedger {
	return rapid.SampledFrom(m.running).Draw(t, "ledger")
}

func (m *crashMachine) reserve(t *rapid.T) {
	l, gpu := m.pick(t), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "gpu")
	task := fmt.Sprintf("t%d", m.tasks)
	m.tasks++
	seen := l.Snapshot().Version
	lease, err := l.Reserve(seen, claim(gpu, task, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range m.leases {
		if old.Epoch == lease.Epoch && old.Number == lease.Number {
			t.Fatalf("lease %v %d is given a second time", lease.Epoch, lease.Number)
		}
	}
	m.leases, m.versions = append(m.leases, lease), append(m.versions, seen)
	l.books.open[lease], l.books.gpu[task] = task, gpu
}

func (m *crashMachine) commit(t *rapid.T) {
	if len(m.leases) == 0 {
		t.Skip("no lease yet")
	}
	l, lease := m.pick(t), rapid.SampledFrom(m.leases).Draw(t, "lease")
	err := l.Commit(lease)
	task, open := l.books.open[lease]
	switch _, done := l.books.done[lease]; {
	case open:
		delete(l.books.open, lease)
		l.books.done[lease] = map[string]string{task: l.books.gpu[task]}
		fallthrough
	case done:
		if err != nil {
			t.Fatalf("commit of a lease in the books: %v", err)
		}
	case !errors.Is(err, ledger.ErrLeaseOver):
		t.Fatalf("commit of a lease that is not in the books: %v, want ErrLeaseOver", err)
	}
}

func (m *crashMachine) rollback(t *rapid.T) {
	if len(m.leases) == 0 {
		t.Skip("no lease yet")
	}
	l, lease := m.pick(t), rapid.SampledFrom(m.leases).Draw(t, "lease")
	err := l.Rollback(lease)
	if _, done := l.books.done[lease]; done != errors.Is(err, ledger.ErrCommitted) || !done && err != nil {
		t.Fatalf("rollback: %v; committed is %v", err, done)
	}
	if task, open := l.books.open[lease]; open {
		delete(l.books.open, lease)
		delete(l.books.gpu, task)
	}
}

// stale decides on a snapshot that some ledger once gave.
func (m *crashMachine) stale(t *rapid.T) {
	if len(m.versions) == 0 {
		t.Skip("no snapshot yet")
	}
	l, seen := m.pick(t), rapid.SampledFrom(m.versions).Draw(t, "version")
	if l.Snapshot().Version.Epoch == seen.Epoch {
		t.Skip("of this life")
	}
	_, err := l.Reserve(seen, claim("empty", "stale", 1))
	if !errors.Is(err, ledger.ErrConflict) {
		t.Fatalf("a snapshot of another life: %v, want ErrConflict", err)
	}
}

func (m *crashMachine) save(t *rapid.T) {
	l := m.pick(t)
	var file strings.Builder
	if err := l.Save(&file); err != nil {
		t.Fatal(err)
	}
	m.files, m.saved = append(m.files, file.String()), append(m.saved, l.books.clone())
}

// load starts a ledger from any file, also from one that was loaded before.
func (m *crashMachine) load(t *rapid.T) {
	if len(m.files) == 0 {
		t.Skip("no file yet")
	}
	i := rapid.IntRange(0, len(m.files)-1).Draw(t, "file")
	l, err := ledger.Load(strings.NewReader(m.files[i]), m.config)
	if err != nil {
		t.Fatal(err)
	}
	m.running = append(m.running, &crashLedger{l, m.saved[i].clone()})
}

// crash ends a ledger without a word.
func (m *crashMachine) crash(t *rapid.T) {
	if len(m.running) == 1 {
		t.Skip("the last one")
	}
	i := rapid.IntRange(0, len(m.running)-1).Draw(t, "victim")
	m.running = slices.Delete(m.running, i, i+1)
}

func (m *crashMachine) check(t *rapid.T) {
	for _, l := range m.running {
		got := make(map[string]string)
		for gpu, tasks := range held(l.Ledger) {
			for _, task := range tasks {
				got[task] = gpu
			}
		}
		if !maps.Equal(got, l.books.gpu) {
			t.Fatalf("the books have %v, want %v", got, l.books.gpu)
		}
	}
}

// Property: however often ledgers crash, load one file again, or run beside each
// other, no lease gets a name twice, a lease that is not in the books cannot be
// committed, and no snapshot of another life counts.
func TestLedgerCrashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		m := &crashMachine{config: ledger.Config{
			GPUs:   []colloc.GPU{bare("a", 10_000), bare("b", 10_000), bare("empty", 10_000)},
			MaxSet: 64, Now: newFakeClock().Now, Rand: chacha(seed),
		}}
		first, err := ledger.New(m.config)
		if err != nil {
			t.Fatal(err)
		}
		m.running = []*crashLedger{{first, &crashBooks{make(map[string]string), make(map[ledger.Lease]string), make(map[ledger.Lease]map[string]string)}}}
		t.Repeat(map[string]func(*rapid.T){
			"": m.check, "reserve": m.reserve, "commit": m.commit, "rollback": m.rollback,
			"stale": m.stale, "save": m.save, "load": m.load, "crash": m.crash,
		})
	})
}

// chacha is a source of epochs that a test can repeat.
func chacha(seed uint64) io.Reader {
	return rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24), byte(seed >> 32), byte(seed >> 40)})
}

// Two crashes before the next Save: what the first life gave does not count in
// the second, whose own leases do.
func TestLedgerTwoCrashes(t *testing.T) {
	c := ledger.Config{GPUs: []colloc.GPU{bare("a", 100), bare("b", 100)}, Now: newFakeClock().Now}
	l, err := ledger.New(c)
	if err != nil {
		t.Fatal(err)
	}
	file := savedBooks(t, l)
	load := func() *ledger.Ledger {
		l, err := ledger.Load(strings.NewReader(file), c)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	one := load()
	x := mustReserve(t, one, claim("a", "x", 1))
	seen := one.Snapshot().Version
	two := load()
	y := mustReserve(t, two, claim("a", "y", 1))
	if err := two.Commit(x); !errors.Is(err, ledger.ErrLeaseOver) {
		t.Errorf("commit of the first life's lease: %v, want ErrLeaseOver", err)
	}
	if err := two.Rollback(x); err != nil {
		t.Errorf("rollback of the first life's lease: %v", err)
	}
	_, err = two.Reserve(seen, claim("b", "z", 1))
	var refused *ledger.RefusedError
	if !errors.As(err, &refused) || !refused.Stale || refused.Code != 0 || !strings.Contains(err.Error(), "from before a restart") {
		t.Errorf("a snapshot of the first life, on an empty GPU: %v, want ErrConflict", err)
	}
	if err := two.Commit(y); err != nil {
		t.Errorf("commit of the second life's own lease: %v", err)
	}
}

// booksFormat1 is a file of before epochs, its leases out of order.
const booksFormat1 = `{"format":1,"version":9,"issued":4294967299,"gpus":[{"id":"a","foreign_bytes":5}],"leases":[` +
	`{"number":4294967298,"remaining_ns":1000000000,"tasks":[{"id":"second","gpu":"a","reserved_bytes":2,"profile":{}}]},` +
	`{"number":1,"tasks":[{"id":"first","gpu":"a","reserved_bytes":1,"profile":{}}]}]}`

// A file of format 1 loads; its leases keep their numbers, in epoch 0.
func TestLoadFormat1(t *testing.T) {
	clock := newFakeClock()
	c := ledger.Config{GPUs: []colloc.GPU{bare("a", 100)}, MaxSet: 8, Now: clock.Now}
	l, err := ledger.Load(strings.NewReader(booksFormat1), c)
	if err != nil {
		t.Fatal(err)
	}
	if got := held(l)["a"]; !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("the books have %v, want first and second", got)
	}
	var lease ledger.Lease // as a program of then stored it
	if err := json.Unmarshal([]byte(`{"number":4294967298,"expires":"2026-01-01T00:00:01Z"}`), &lease); err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(lease); err != nil {
		t.Errorf("commit of an old lease: %v", err)
	}
	if err := l.Commit(ledger.Lease{Number: 4294967299}); !errors.Is(err, ledger.ErrLeaseOver) {
		t.Errorf("commit of an old lease that was over: %v, want ErrLeaseOver", err)
	}
	again, err := ledger.Load(strings.NewReader(savedBooks(t, l)), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Rollback(lease); !errors.Is(err, ledger.ErrCommitted) {
		t.Errorf("the old lease after another restart: %v, want ErrCommitted", err)
	}
}

// A lease survives JSON; its epoch is text, which no reader rounds.
func TestLeaseJSON(t *testing.T) {
	want := ledger.Lease{Epoch: 0x9f86d081884c7d65, Number: 7, Expires: newFakeClock().Now()}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got ledger.Lease
	if err := json.Unmarshal(text, &got); err != nil || got != want || !bytes.Contains(text, []byte(`"9f86d081884c7d65"`)) {
		t.Errorf("%s gives %+v, %v; want %+v", text, got, err, want)
	}
}

// The same source gives the same books; a source that fails, gives zeros, or
// gives what the file has already opens none.
func TestLedgerRand(t *testing.T) {
	c := ledger.Config{GPUs: []colloc.GPU{bare("a", 100, sized("r", 1))}, Now: newFakeClock().Now}
	open := func(source io.Reader) (string, error) {
		c.Rand = source
		l, err := ledger.New(c)
		if err != nil {
			return "", err
		}
		return savedBooks(t, l), nil
	}
	first, err := open(chacha(1))
	if again, err2 := open(chacha(1)); err != nil || err2 != nil || first != again {
		t.Errorf("the same source gives %s %v, then %s %v", first, err, again, err2)
	}
	if other, err := open(nil); err != nil || other == first {
		t.Errorf("the default source gives %s, %v", other, err)
	}
	if _, err := open(strings.NewReader("short")); err == nil || !strings.Contains(err.Error(), "Rand gives no epoch") {
		t.Errorf("a short source: %v", err)
	}
	if _, err := open(bytes.NewReader(make([]byte, 1<<10))); err == nil || !strings.Contains(err.Error(), "same epochs") {
		t.Errorf("a source of zeros: %v", err)
	}
	c.Rand = chacha(1) // draws the file's epoch first
	loaded, err := ledger.Load(strings.NewReader(first), c)
	if err != nil {
		t.Fatal(err)
	}
	if epoch := loaded.Snapshot().Version.Epoch.String(); strings.Contains(first, epoch) {
		t.Errorf("the epoch of the file, %s, came again", epoch)
	}
}

// Leases of a file lapse each in its own time, in whatever order the file, which
// somebody may have edited, has them.
func TestLoadDeadlines(t *testing.T) {
	const file = `{"format":2,"epoch":"aa","issued":2,"leases":[` +
		`{"epoch":"aa","number":1,"remaining_ns":9000000000,"tasks":[{"id":"late","gpu":"a","reserved_bytes":1,"profile":{}}]},` +
		`{"epoch":"aa","number":2,"remaining_ns":1000000000,"tasks":[{"id":"soon","gpu":"a","reserved_bytes":1,"profile":{}}]}]}`
	clock := newFakeClock()
	l, err := ledger.Load(strings.NewReader(file), ledger.Config{GPUs: []colloc.GPU{bare("a", 100*profile.GiB)}, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	clock.Step(2 * time.Second)
	if got := l.Expire(); len(got) != 1 || got[0].Epoch != 0xaa || got[0].Lease != 2 {
		t.Errorf("after 2 s %v lapsed, want lease 2", got)
	}
	if got := held(l)["a"]; !slices.Equal(got, []string{"late"}) {
		t.Errorf("after 2 s the books have %v, want late", got)
	}
}
