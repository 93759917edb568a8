package session

import (
	"time"

	"example.com/colloc/examples/measure/internal/plan"
)

// Config says how cells are measured.
type Config struct {
	plan.Settings
	Out     string        // the raw file, which the program goes on with
	Machine string        // label of the host
	Start   time.Duration // for a workload to get ready
	Grace   time.Duration // beyond warm-up and measuring, for it to end
	Budget  time.Duration // for all; 0 is no limit
	Retry   bool          // measure cells again that crashed or hung
	// Unchecked says that nothing may tell who else uses the GPU.
	Unchecked bool
}

// quitPatience is how long a workload may take to end when it is told to.
const quitPatience = 10 * time.Second
