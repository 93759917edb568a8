package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
)

// bench measures the cases that o asks for.
func bench(ctx context.Context, o options, stdout io.Writer) error {
	from, err := sources(o.data)
	if err != nil {
		return err
	}
	rival, why := newLEMON(ctx, o.lemon)
	defer rival.close()
	r := &report{Writer: stdout}
	r.printf("%s, %s/%s, %d cores\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if why != "" {
		r.printf("without LEMON: %s\n", why)
	}
	r.printf("\n")
	r.head()
	for _, c := range cases(from, 1) {
		if o.quick && c.large || !strings.Contains(c.name, o.pattern) {
			continue
		}
		if err := c.measure(ctx, o.repeats, rival, r); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for i := range from {
		name := fmt.Sprintf("arrival/%s/gpus=1000", from[i].name)
		if !strings.Contains(name, o.pattern) {
			continue
		}
		if err := arrivals(name, &from[i], 1000, 1000, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if r.rows > 0 {
		r.printf("\n%d of %d met\n", r.rows-r.missed, r.rows)
	}
	return r.err
}
