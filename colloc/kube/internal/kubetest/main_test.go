//go:build kube

package kubetest_test

import (
	"os"
	"testing"

	"example.com/colloc/internal/testbed"
)

func TestMain(m *testing.M) {
	testbed.Prepare() // a control plane does not outlive its test
	m.Run()
	if dir, err := built(); err == nil {
		_ = os.RemoveAll(dir) // nobody runs what is in it any more
	}
}
