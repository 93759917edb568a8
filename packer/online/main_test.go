package online

import (
	"fmt"
	"os"
	"testing"

	"example.com/colloc/internal/race"
)

// TestMain compares with the slow twins less often under the race detector.
func TestMain(m *testing.M) {
	if err := race.FewerChecks(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}
