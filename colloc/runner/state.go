package runner

import (
	"context"
	"os"
	"sync"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/colloc/runner/internal/oom"
	"example.com/colloc/colloc/runner/internal/progress"
	"example.com/colloc/colloc/runner/internal/shared"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/profile"
)

// Runner runs the tasks of one queue. It is safe for concurrent use.
type Runner struct {
	config         Config
	planner        planner
	ledger         *ledger.Ledger
	cards          []*card
	blank          profile.Profile // of tasks of which nothing is known
	memoryPatterns oom.Patterns
	lock           *os.File
	store          *store
	events         *dispatcher
	stopWatch      context.CancelFunc
	work           sync.WaitGroup // goroutines
	wake           chan struct{}  // something changed that Run waits for
	closing        chan struct{}

	mu       sync.Mutex // guards what follows, and every entry and card
	queue    *queue
	patterns map[string]*progress.Pattern
	solo     solo
	dirty    []*entry           // records that the queue file does not have yet
	pending  []Event            // that wait for their transaction
	warned   map[string]bool    // what was told once
	suspects map[string]bool    // what the last look did not understand
	victims  profile.Opt[int64] // of lack of the host's memory, at the last look
	stuck    error              // why the last transaction failed
	failures int                // tasks that failed since Run began
	shared   *shared.Book       // nil if there is none
	left     map[string]leftRun // of a queue that was lost
	row      []*entry           // those that failed soon after their start since one did not
	broken   bool               // there were too many of those: more of them are queued again
	running  bool
	draining bool
	halted   bool
	closed   bool
	children map[*supervise.Supervisor]bool
}

// planner is what the runner asks of a [colloc.Planner].
type planner interface {
	Fit(task colloc.Task, gpu colloc.GPU) (colloc.Verdict, error)
	Score(task colloc.Task, gpu colloc.GPU) (float64, error)
	Observe(o colloc.Observation) error
}

// leftRun is a run of a queue that is no more.
type leftRun struct {
	stem string
	runs int // its number
	who  supervise.Claim
}
