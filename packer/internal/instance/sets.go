package instance

// With writes tasks with i in its place to dst and returns it.
func With(dst, tasks []int32, i int32) []int32 {
	return Insert(append(dst[:0], tasks...), i)
}

// Insert puts i in its place among ascending tasks.
func Insert(tasks []int32, i int32) []int32 {
	tasks = append(tasks, i)
	n := len(tasks) - 1
	for ; n > 0 && tasks[n-1] > i; n-- {
		tasks[n] = tasks[n-1]
	}
	tasks[n] = i
	return tasks
}

const (
	maxKeyed = 7
	// MaxKnown is how many sets a search remembers: 2.5 MiB.
	MaxKnown = 1 << 16
)

// SetKey names a set of up to maxKeyed tasks on a class; others are not kept.
type SetKey struct {
	class int32
	tasks [maxKeyed]int32 // and one more; 0 is none
}

// KnownSet is a set with its value.
type KnownSet struct {
	Key   SetKey
	Value int64
}

// KnownSets remembers sets by hash; a set may displace another.
type KnownSets []KnownSet

// Find returns the place of a set, with its key: it is known if the key there is
// the same. A nil place is that of a set too large to be kept.
func (s KnownSets) Find(k int, tasks []int32) (at *KnownSet, key SetKey) {
	if len(tasks) > maxKeyed {
		return nil, key
	}
	key.class = int32(k)
	for n, i := range tasks {
		key.tasks[n] = i + 1
	}
	return &s[key.hash()%uint64(len(s))], key
}

// hash spreads keys over the places.
func (k *SetKey) hash() uint64 {
	h := uint64(k.class)
	for _, i := range k.tasks {
		h = (h ^ uint64(i)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}
