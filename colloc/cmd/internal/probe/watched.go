package probe

import (
	"fmt"
	"io"
	"sync"
	"time"

	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/internal/plain"
	"example.com/colloc/profile"
)

// watched is one run of the task while it is watched.
type watched struct {
	o        *options
	host     *gpus.Host
	process  *process // nil with -pid
	progress *progress
	errs     io.Writer
	words    []string // of the command
	dir      string   // where it runs
	started  time.Time

	mu       sync.Mutex
	watch    *solo.Watch
	tenants  *tenants
	reading  runner.Reading
	peak     profile.Opt[profile.Bytes]
	looks    int
	crowded  int    // looks at which others were there
	others   string // who
	over     bool   // what was seen is written, or never will be
	stopping bool   // -stop ends the command
}

// say tells the user something; standard output is the task's.
func (w *watched) say(format string, args ...any) {
	fmt.Fprintln(w.errs, "colloc profile: "+plain.Lines(fmt.Sprintf(format, args...)))
}
