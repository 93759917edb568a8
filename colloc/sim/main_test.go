package sim_test

import (
	"testing"

	"example.com/colloc/internal/race"
)

func TestMain(m *testing.M) { race.Run(m) }
