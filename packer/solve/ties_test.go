package solve

import (
	"context"
	"testing"

	"example.com/colloc/packer/internal/packtest"
)

// polls is a context that counts how often it is looked at: a matching does once
// for each search and for every few rows of a matrix.
type polls struct {
	context.Context
	count int
}

func (p *polls) Err() error {
	p.count++
	return nil
}

// TestTies: where many pairs are worth the same, a plan takes about as much work
// as elsewhere, for any number of GPUs, and is proved the best.
func TestTies(t *testing.T) {
	for _, test := range []struct{ gpus, most int }{{90, 1200}, {150, 600}, {240, 1000}} {
		p := packtest.BenchProblem(packtest.BenchModel(t, "tied", 300), test.gpus)
		ctx := &polls{Context: t.Context()}
		s, err := Matching{}.Pack(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		if s.Gap() != 0 || ctx.count > test.most {
			t.Errorf("%d GPUs: gap %g after %d looks at the context; want 0 after %d at most", test.gpus, s.Gap(), ctx.count, test.most)
		}
	}
}
