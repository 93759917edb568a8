//go:build kube

package kubetest_test

import (
	"testing"

	"example.com/colloc/internal/testbed"
)

func TestMain(m *testing.M) {
	testbed.Prepare() // a control plane does not outlive its test
	m.Run()
}
