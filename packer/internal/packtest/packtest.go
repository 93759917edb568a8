package packtest

import (
	"context"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
)

// NewInstance compiles a problem that has no faults.
func NewInstance(tb testing.TB, p *packer.Problem) *instance.Instance {
	tb.Helper()
	d, err := packer.Compile(p)
	if err != nil {
		tb.Fatal(err)
	}
	return d.Instance
}

// Units converts a value back to whole units.
func Units(p *packer.Problem, value float64) int64 { return int64(value / p.Unit()) }

// Solve runs a method and checks what must hold for every answer.
func Solve(t *testing.T, m packer.Method, p *packer.Problem) *packer.Solution {
	t.Helper()
	s, err := m.Pack(context.Background(), p)
	if err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	if err := p.Check(s); err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	if s.Certificate != nil {
		bound, err := s.Certificate.Verify(context.Background(), p)
		if err != nil {
			t.Fatalf("%T: %v", m, err)
		}
		if bound > s.Bound {
			t.Fatalf("%T: the certificate proves %v, not %v", m, bound, s.Bound)
		}
		if bound < s.Throughput {
			t.Fatalf("%T: the certificate proves %v, below the plan's %v", m, bound, s.Throughput)
		}
	}
	return s
}
