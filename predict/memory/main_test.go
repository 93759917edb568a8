package memory

import (
	"fmt"
	"os"
	"testing"

	"example.com/colloc/internal/race"
)

func TestMain(m *testing.M) {
	if err := race.FewerChecks(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}
