package supervise

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/colloc/profile"
)

// A trimmer keeps the output of a run within a limit while the command writes to it
// as fast as it likes: the beginning and the end stay, what is between becomes a hole
// in the file, or is cut out where the file system makes no holes. The command
// neither waits nor notices.
type trimmer struct {
	path    string
	limit   int64
	dropped atomic.Int64

	mu     sync.Mutex
	size   int64 // at the last look
	from   int64 // where the hole begins
	upTo   int64 // where it ends; 0 if there is none
	failed bool  // neither can be done here
}

const (
	block      = 4096
	leastLimit = 64 * block // a smaller limit is taken for this
	// Of the limit a quarter is the beginning, half the end, and the rest is what may
	// come before the next look.
	headShare, tailShare = 4, 2
)

func newTrimmer(path string, limit profile.Bytes) *trimmer {
	if limit <= 0 {
		return nil
	}
	most := max(int64(limit), leastLimit)
	return &trimmer{path: path, limit: most, from: most / headShare / block * block}
}

// Looks are often while much is written.
const rarely, often = time.Second, 20 * time.Millisecond

// watch looks at the output for as long as this process lives.
func (t *trimmer) watch() {
	for {
		time.Sleep(t.look()) //nolint:forbidigo // nobody waits for it, and this process has no clock of its own
	}
}

// look trims the output if it is time, and says when to look again.
func (t *trimmer) look() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.path)
	if err != nil {
		return rarely
	}
	size, before := info.Size(), t.size
	t.size = size
	if size-max(t.from, t.upTo) > t.limit-t.from && !t.failed {
		t.trim(size)
	}
	if size-before > t.limit/16 {
		return often
	}
	return rarely
}

// trim leaves out what is between the beginning and the end.
func (t *trimmer) trim(size int64) {
	file, err := os.OpenFile(t.path, os.O_WRONLY, 0) // by a descriptor that does not append
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }() // what is lost of a mark is no loss
	const keepSize, punchHole = 1, 2
	end := (size - t.limit/tailShare) / block * block
	begin := max(t.from, t.upTo)
	err = syscall.Fallocate(int(file.Fd()), keepSize|punchHole, begin, end-begin)
	if err != nil { // no holes here: the end goes, too, and what comes next follows the beginning
		end = size
		if t.failed = file.Truncate(t.from) != nil; t.failed {
			return
		}
	}
	t.dropped.Add(end - begin)
	if err == nil {
		t.upTo = end
	}
	mark := fmt.Sprintf("\n[colloc: %v of the output are left out here, for a log may take %v; where NULs follow, they stand for it]\n",
		profile.Bytes(t.dropped.Load()), profile.Bytes(t.limit))
	_, _ = file.WriteAt([]byte(mark), t.from-block)
}
