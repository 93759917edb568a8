//go:build !linux || !cgo

package gonvml

import (
	"fmt"
	"runtime"

	"example.com/colloc/nvmlx"
)

// Open returns nvmlx.ErrUnavailable: this build has no access to the driver.
func Open(o *Options) (nvmlx.Source, error) {
	_ = o.orDefault()
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("gonvml: open: the driver is reached on Linux only, this program runs on %s: "+
			"run it on the GPU host, or replay a recording made there: %w", runtime.GOOS, nvmlx.ErrUnavailable)
	}
	return nil, fmt.Errorf("gonvml: open: this program was built without cgo: build it with CGO_ENABLED=1 and a C compiler, "+
		"or replay a recording: %w", nvmlx.ErrUnavailable)
}
