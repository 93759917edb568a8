package ledger_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

func benchLedger(b *testing.B, gpus int) *ledger.Ledger {
	b.Helper()
	c := ledger.Config{MaxSet: 8, Now: time.Now}
	for i := range gpus {
		c.GPUs = append(c.GPUs, bare(fmt.Sprintf("gpu-%d", i), 80*profile.GiB))
	}
	l, err := ledger.New(c)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// BenchmarkLedger counts pairs of Reserve and Release (with the Commit that it
// needs) or of Reserve and Rollback, by schedulers that share 50 GPUs.
func BenchmarkLedger(b *testing.B) {
	for _, pair := range []string{"reserve-commit-release", "reserve-rollback"} {
		b.Run(pair, func(b *testing.B) {
			l := benchLedger(b, 50)
			seen := l.Snapshot().Version // what happens on other GPUs does not matter
			var names atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				me := names.Add(1)
				task := sized(fmt.Sprintf("task-%d", me), profile.GiB)
				claims := []ledger.Claim{{Task: task, GPU: fmt.Sprintf("gpu-%d", me%50)}}
				for pb.Next() {
					lease, err := l.Reserve(seen, claims...)
					if err != nil {
						b.Error(err)
						return
					}
					if pair == "reserve-rollback" {
						err = l.Rollback(lease)
					} else if err = l.Commit(lease); err == nil {
						err = l.Release(task.ID)
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}

func BenchmarkLedgerSnapshot(b *testing.B) {
	for _, gpus := range []int{8, 50, 1000} {
		b.Run(fmt.Sprintf("gpus=%d", gpus), func(b *testing.B) {
			l := benchLedger(b, gpus)
			for i := range gpus {
				mustCommit(b, l, claim(fmt.Sprintf("gpu-%d", i), fmt.Sprint("x", i), 1), claim(fmt.Sprintf("gpu-%d", i), fmt.Sprint("y", i), 1))
			}
			b.ReportAllocs()
			for b.Loop() {
				l.Snapshot()
			}
		})
	}
}
