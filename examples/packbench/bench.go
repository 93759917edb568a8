package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"example.com/colloc/packer"
)

// enough is the time after which a case is not repeated.
const enough = 3 * time.Second

// bench measures the cases that o asks for.
func bench(ctx context.Context, o options, stdout io.Writer) error {
	from, err := sources(o.data)
	if err != nil {
		return err
	}
	rival, why := newLEMON(ctx, o.lemon)
	defer rival.close()
	w := &writer{Writer: stdout}
	w.printf("%s, %s/%s, %d cores\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if why != "" {
		w.printf("without LEMON: %s\n", why)
	}
	w.printf("\n%-40s %10s %12s %9s %10s %8s\n", "case", "time", "throughput", "gap %", "LEMON", "ratio")
	for _, c := range cases(from, 1) {
		if o.quick && c.large || !strings.Contains(c.name, o.pattern) {
			continue
		}
		if err := c.measure(ctx, o.repeats, rival, w); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for i := range from {
		name := fmt.Sprintf("session, arrival/%s/gpus=1000", from[i].name)
		if !strings.Contains(name, o.pattern) {
			continue
		}
		took, err := arrivals(&from[i], 1000, 20_000)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		w.printf("%-40s %10s\n", name, took)
	}
	return w.err
}

// writer keeps the first error.
type writer struct {
	io.Writer
	err error
}

func (w *writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w, format, args...)
	}
}

// measure prints the row of a case.
func (c *benchCase) measure(ctx context.Context, repeats int, rival *lemon, w *writer) error {
	p := c.problem()
	var took []time.Duration
	var s *packer.Solution
	for total := time.Duration(0); len(took) < repeats && total < enough; {
		start := time.Now()
		var err error
		if s, err = c.method.Pack(ctx, p); err != nil {
			return err
		}
		took = append(took, time.Since(start))
		total += took[len(took)-1]
	}
	if err := p.Check(s); err != nil {
		return err
	}
	slices.Sort(took)
	median := took[len(took)/2]
	bound := s.Bound
	if c.bound != nil {
		proved, err := c.bound.Pack(ctx, p)
		if err != nil {
			return err
		}
		bound = proved.Bound
	}
	w.printf("%-40s %10s %12.4f %9.4f", c.name, short(median), s.Throughput, 100*max(0, bound-s.Throughput)/bound)
	if c.pairs && rival != nil {
		r, err := rival.solve(ctx, p)
		switch {
		case err != nil:
			return err
		case r.late:
			w.printf(" %10s %8s", ">"+short(rival.limit), fmt.Sprintf(">%.0f", rival.limit.Seconds()/median.Seconds()))
		case math.Abs(r.value-s.Throughput) > 1e-4*s.Throughput:
			return fmt.Errorf("LEMON finds a matching worth %v, packer one worth %v", r.value, s.Throughput)
		default:
			w.printf(" %10s %8.1f", short(r.took), r.took.Seconds()/median.Seconds())
		}
	}
	w.printf("\n")
	return nil
}

// short prints a time with three digits or so.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
