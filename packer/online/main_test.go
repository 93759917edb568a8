package online

import (
	"testing"

	"example.com/colloc/internal/race"
)

// TestMain compares with the slow twins less often under the race detector.
func TestMain(m *testing.M) { race.Run(m) }
