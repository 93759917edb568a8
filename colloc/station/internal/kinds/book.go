package kinds

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// MaxKinds is how many kinds are kept, of each user alone or of all together; of more, those
// that come late are not learned.
const MaxKinds = 2_000

// usual is by what share runs of a program are believed to differ before they are seen: their arguments and data do.
const usual = 0.1

// Book is what is known of kinds. It is safe for concurrent use.
type Book struct {
	enough time.Duration
	shared bool

	mu    sync.Mutex
	kinds map[string]*solo.Kind
}

// New goes on with what was known. A run is watched for so long from its first step on;
// shared says that what is seen of one user's run holds for all users'.
func New(enough time.Duration, shared bool, known map[string]solo.Kind) *Book {
	b := &Book{enough: enough, shared: shared, kinds: make(map[string]*solo.Kind)}
	for name, k := range known {
		b.kinds[name] = &k
	}
	return b
}

// name is what a kind is called here: each user's own, for whoever runs a program says what
// it is, and how much it uses follows from arguments and data too. O(1).
func (b *Book) name(uid uint32, kind string) string {
	if kind == "" || b.shared {
		return kind
	}
	return fmt.Sprintf("%d:%s", uid, kind)
}

// nameOf is that of a run.
func (b *Book) nameOf(r *queue.Record) string {
	if r.Task.Owner == nil {
		return b.name(0, r.Task.Kind)
	}
	return b.name(r.Task.Owner.UID, r.Task.Kind)
}

// Same reports whether what is known of one run's kind holds for the other.
func (b *Book) Same(r, other *queue.Record) bool {
	return r.Task.Kind == other.Task.Kind && b.nameOf(r) == b.nameOf(other)
}

// Known returns what is known of all kinds.
func (b *Book) Known() map[string]solo.Kind {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := make(map[string]solo.Kind)
	for name, k := range b.kinds {
		if k.Profile != nil {
			known[name] = solo.Kind{Profile: k.Profile, Peaks: k.Peaks}
		}
	}
	return known
}

// Of returns what is known of a user's kind; nil is nothing.
func (b *Book) Of(uid uint32, kind string) *profile.Profile {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.kinds[b.name(uid, kind)]; k != nil {
		return k.Profile
	}
	return nil
}

// Begin watches a run that starts, if no other of its kind is watched and the kind is
// unknown, or only its memory is and nobody is beside the run; true if it does.
func (b *Book) Begin(at time.Time, r *queue.Record, beside bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := b.nameOf(r)
	k := b.kinds[name]
	if name == "" || r.Task.Width() > 1 || k == nil && b.full(name) {
		return false
	}
	if k == nil {
		k = new(solo.Kind)
		b.kinds[name] = k
	}
	return (k.Profile == nil || !beside && k.OnlyMemory()) && k.Begin(at, r, beside)
}

// Join notes that a run starts on a GPU: what that does tells no more of another one there.
func (b *Book) Join(r *queue.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.kinds {
		k.Join(r)
	}
}

// full reports whether there is no room for another kind of the same user. O(kinds).
func (b *Book) full(kind string) bool {
	user, _, _ := strings.Cut(kind, ":")
	n := 0
	for name := range b.kinds {
		if b.shared || strings.HasPrefix(name, user+":") {
			n++
		}
	}
	return n >= MaxKinds
}

// Sample notes what a GPU did.
func (b *Book) Sample(s *nvmlx.Sample) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.kinds {
		k.Sample(s)
	}
}

// Watched are the tasks whose runs are watched.
func (b *Book) Watched() (tasks []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.kinds {
		if r := k.Watched(); r != nil {
			tasks = append(tasks, r.Task.ID)
		}
	}
	return tasks
}

// Progress notes how far a run is, or that it is over; known is true if its kind is known
// since, or better known. largest is what the largest GPU offers.
func (b *Book) Progress(at time.Time, r *queue.Record, gpu profile.GPUModel, largest profile.Bytes) (known bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := b.nameOf(r)
	k := b.kinds[name]
	if k == nil {
		return false, nil
	}
	rules := &solo.Rules{Enough: b.enough, Usual: usual, Largest: largest, Blind: r.Task.Memory > 0}
	if w := k.Watched(); w == nil || w.Task.ID != r.Task.ID {
		return r.Task.Width() == 1 && k.Saw(r, rules), nil
	}
	learned, err := k.Follow(at, name, r, rules, gpu)
	if !learned && err == nil && k.Watched() == nil && r.State == queue.Succeeded {
		return k.Saw(r, rules), nil // it was beside others, and its kind is known
	}
	return learned, err
}
