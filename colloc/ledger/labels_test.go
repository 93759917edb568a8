package ledger_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// TestReserveLabels: the books keep tenants apart, whatever a scheduler decided, and
// say who is in the way.
func TestReserveLabels(t *testing.T) {
	gpu := card("a")
	gpu.Labels = []string{"node-1"}
	c := ledger.Config{GPUs: []colloc.GPU{gpu}}
	books, _ := newLedger(t, c)
	red := sized("red", profile.GiB)
	red.Labels, red.Only, red.On = []string{"red"}, []string{"red"}, []string{"node-1", "RTX3090"}
	red.Home, red.MoveCost, red.Kind, red.Priority = "a", 2, "net", 3
	red.Elsewhere = []*profile.Profile{{}}
	mustCommit(t, books, ledger.Claim{Task: red, GPU: "a"})
	if r := books.Snapshot().GPUs[0].Residents[0]; r.Home != "a" || r.MoveCost != 2 || r.Kind != "net" || r.Priority != 3 || len(r.Elsewhere) != 1 || !slices.Equal(r.On, red.On) {
		t.Errorf("the books have %+v", r)
	}
	blue, lost := sized("blue", profile.GiB), sized("lost", profile.GiB)
	blue.Labels, lost.Labels, lost.On = []string{"blue"}, []string{"red"}, []string{"node-2"}
	var refused *ledger.RefusedError
	_, err := books.Reserve(books.Snapshot().Version, ledger.Claim{Task: blue, GPU: "a"})
	if !errors.As(err, &refused) || !errors.Is(err, ledger.ErrFull) || refused.Code != packer.Incompatible || refused.Other != "red" || !strings.Contains(err.Error(), `"red" do not go together`) {
		t.Errorf("another tenant: %v", err)
	}
	_, err = books.Reserve(books.Snapshot().Version, ledger.Claim{Task: lost, GPU: "a"})
	if !errors.As(err, &refused) || refused.Code != packer.WrongGPU || refused.Label != "node-2" || !strings.Contains(err.Error(), `label "node-2"`) {
		t.Errorf("another node: %v", err)
	}
	lost.On = nil
	if _, err := books.Reserve(books.Snapshot().Version, ledger.Claim{Task: lost, GPU: "a"}); err != nil {
		t.Errorf("the same tenant: %v", err)
	}
}
