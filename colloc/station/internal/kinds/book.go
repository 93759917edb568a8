package kinds

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// MaxKinds is how many kinds are kept, of each user alone or of all together; of more, those
// that come late are not learned.
const MaxKinds = 2_000

// Book is what is known of kinds. It is safe for concurrent use.
type Book struct {
	enough time.Duration
	shared bool

	mu      sync.Mutex
	known   map[string]*profile.Profile // with a bound for the peak of the next run
	peaks   map[string]solo.Peaks
	watched map[string]*watch // by kind
}

type watch struct {
	*solo.Watch
	gpu nvmlx.DeviceID
}

// New goes on with what was known, of kinds that were known before peaks were kept by what their profiles say. A run is watched for so long from its first step on;
// shared says that what is seen of one user's run holds for all users'.
func New(enough time.Duration, shared bool, known map[string]*profile.Profile, peaks map[string]solo.Peaks) *Book {
	b := &Book{enough: enough, shared: shared, known: maps.Clone(known), peaks: maps.Clone(peaks), watched: make(map[string]*watch)}
	if b.known == nil {
		b.known = make(map[string]*profile.Profile)
	}
	if b.peaks == nil {
		b.peaks = make(map[string]solo.Peaks)
	}
	for kind, p := range b.known {
		if b.peaks[kind].N == 0 && p != nil {
			b.peaks[kind] = b.peaks[kind].Saw(profile.BytesOf(p.Vector.Or(profile.PeakMemory, 0)), true)
		}
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

// Known returns what is known of all kinds, and the peaks that were seen.
func (b *Book) Known() (known map[string]*profile.Profile, peaks map[string]solo.Peaks) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.known), maps.Clone(b.peaks)
}

// Of returns what is known of a user's kind; nil is nothing.
func (b *Book) Of(uid uint32, kind string) *profile.Profile {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known[b.name(uid, kind)]
}

// Begin watches a run that starts, if no other of its kind is watched and the kind is
// unknown, or only its memory is and nobody is beside the run; true if it does.
func (b *Book) Begin(at time.Time, r *queue.Record, beside bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	kind := b.nameOf(r)
	known := b.known[kind]
	if kind == "" || b.watched[kind] != nil || r.Task.Memory > 0 || r.Task.Width() > 1 || known == nil && b.full(kind) {
		return false
	}
	if known != nil && (beside || !onlyMemory(known)) {
		return false
	}
	w := &watch{solo.Begin(r.Task.ID, at), r.GPU}
	if beside {
		w.Join()
	}
	b.watched[kind] = w
	return true
}

// onlyMemory reports whether a profile is of a run that was never watched alone.
func onlyMemory(p *profile.Profile) bool {
	_, busy := p.Vector.Get(profile.MeanGPUBusy)
	_, step := p.Vector.Get(profile.MedianStepTime)
	return !busy && !step
}

// Join notes that a run starts on a GPU: what that does tells no more of another one there.
func (b *Book) Join(r *queue.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.watched {
		if w.gpu == r.GPU && w.Run() != r.Task.ID {
			w.Join()
		}
	}
}

// full reports whether there is no room for another kind of the same user. O(kinds).
func (b *Book) full(kind string) bool {
	user, _, _ := strings.Cut(kind, ":")
	n := 0
	for name := range b.known {
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
	for _, w := range b.watched {
		if w.gpu == s.Device {
			w.Sample(s.Sample)
		}
	}
}

// Progress notes how far a run is, or that it is over; known is true if its kind is known
// since, or better known. largest is what the largest GPU offers.
func (b *Book) Progress(at time.Time, r *queue.Record, gpu profile.GPUModel, largest profile.Bytes) (known bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kind := b.nameOf(r)
	w := b.watched[kind]
	if w == nil || w.Run() != r.Task.ID {
		return b.grow(r, largest), nil
	}
	if r.State == queue.Queued || r.State.Over() && r.State != queue.Succeeded {
		delete(b.watched, kind) // the next one is watched instead
		return false, nil
	}
	w.Peak(r.Peak)
	w.Step(at, r.Step, r.Restarts)
	if !r.State.Over() && (!w.Done(at, b.enough) || r.Peak.IsZero()) {
		return false, nil
	}
	delete(b.watched, kind)
	if r.Peak.IsZero() {
		return false, nil // it used no GPU: that tells nothing
	}
	if w.Joined() && b.known[kind] != nil {
		return b.grow(r, largest), nil
	}
	if w.Joined() {
		w.Busy(whole(r))
	}
	p, _, err := w.Conclude(at, profile.Spec{Model: profile.Model{Name: kind}, Training: profile.Training{BatchSize: 1}}, gpu)
	if err != nil {
		return false, err
	}
	b.known[kind] = p
	b.saw(kind, r, largest)
	return true, nil
}

// whole is the share of the GPU that a run would have alone, of what it was seen to have beside others.
func whole(r *queue.Record) profile.Opt[float64] {
	busy, ok := r.Busy.Get()
	if !ok || busy <= 0 {
		return profile.Opt[float64]{}
	}
	const slowest = 0.25 // a prediction of less says little
	return profile.Some(min(1, busy/min(1, max(slowest, r.Speed.Or(r.Predicted.Value)))))
}

// usual is by what share runs of a program are believed to differ before they are seen: their arguments and data do.
const usual = 0.1

// saw lets a kind be known by what its next run may use, after what a run was seen to use; true if that is new.
func (b *Book) saw(kind string, r *queue.Record, largest profile.Bytes) bool {
	was := b.known[kind]
	b.peaks[kind] = b.peaks[kind].Saw(r.Peak.Or(0), r.State == queue.Succeeded)
	b.known[kind] = b.peaks[kind].Bounded(was, usual, colloc.MeasuredMargin, largest)
	return b.known[kind] != was
}

// grow lets what a run was seen to use count for its kind, if that is known.
func (b *Book) grow(r *queue.Record, largest profile.Bytes) bool {
	kind := b.nameOf(r)
	return b.known[kind] != nil && r.Peak.Or(0) > 0 && r.Task.Width() == 1 && b.saw(kind, r, largest)
}
