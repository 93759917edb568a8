package ledger_test

import (
	"testing"

	"example.com/colloc/colloc/ledger"
)

// TestClaimsOfNoPlan: without a plan there are no claims, and that is said.
func TestClaimsOfNoPlan(t *testing.T) {
	if claims, err := ledger.Claims(nil, nil); err == nil {
		t.Errorf("%v, no error", claims)
	}
}
