package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
)

// TestRestart: what books gave before a restart does not count after it, whose own leases
// do.
func TestRestart(t *testing.T) {
	c := ledger.Config{GPUs: []colloc.GPU{bare("a", 100), bare("b", 100)}}
	before, _ := newLedger(t, c)
	x := mustReserve(t, before, claim("a", "x", 1))
	seen := before.Snapshot().Version
	after, _ := newLedger(t, c)
	y := mustReserve(t, after, claim("a", "y", 1))
	if err := after.Commit(x); !errors.Is(err, ledger.ErrLeaseOver) {
		t.Errorf("commit of the first life's lease: %v, want ErrLeaseOver", err)
	}
	if err := after.Rollback(x); err != nil {
		t.Errorf("rollback of the first life's lease: %v", err)
	}
	_, err := after.Reserve(seen, claim("b", "z", 1))
	var refused *ledger.RefusedError
	if !errors.As(err, &refused) || !refused.Stale || refused.Code != 0 || !strings.Contains(err.Error(), "from before a restart") {
		t.Errorf("a snapshot of the first life, on an empty GPU: %v, want ErrConflict", err)
	}
	if err := after.Commit(y); err != nil {
		t.Errorf("commit of the second life's own lease: %v", err)
	}
}

// A lease survives JSON; its epoch is text, which no reader rounds.
func TestLeaseJSON(t *testing.T) {
	want := ledger.Lease{Epoch: 0x9f86d081884c7d65, Number: 7, Expires: newFakeClock().Now()}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got ledger.Lease
	if err := json.Unmarshal(text, &got); err != nil || got != want || !bytes.Contains(text, []byte(`"9f86d081884c7d65"`)) {
		t.Errorf("%s gives %+v, %v; want %+v", text, got, err, want)
	}
}
