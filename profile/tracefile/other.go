package tracefile

import (
	"bytes"
	"fmt"

	"example.com/colloc/profile/tracefile/internal/gather"
)

// ErrOther says that a file is known, but is no log that this package reads. The error
// around it names what the file is and what to print instead.
var ErrOther = gather.ErrOther

// other names a text that people take for a log, and says what to print instead.
func other(line []byte) error {
	switch {
	case bytes.HasPrefix(line, []byte("| NVIDIA-SMI ")):
		return fmt.Errorf("%w: the table that nvidia-smi prints for people; nvidia-smi -q -x, or --query-gpu with --format=csv, says the same to programs", ErrOther)
	case bytes.HasPrefix(line, []byte("List of valid properties to query")):
		return fmt.Errorf("%w: nvidia-smi's help on what can be asked, without a value", ErrOther)
	}
	return nil
}
