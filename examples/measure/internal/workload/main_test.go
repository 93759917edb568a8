package workload

import (
	"testing"

	"go.uber.org/goleak"

	"example.com/colloc/internal/testbed"
)

func TestMain(m *testing.M) {
	testbed.Prepare()
	goleak.VerifyTestMain(m)
}
