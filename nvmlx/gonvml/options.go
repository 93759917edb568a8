package gonvml

import "example.com/colloc/nvmlx"

// Options change how the driver is reached. The zero value, and nil, are right
// for every ordinary host.
type Options struct {
	// Library is the name or path of the driver's library; empty is
	// "libnvidia-ml.so.1", found by the system's loader. All sources of a
	// process must use the same.
	Library string
	// Clock dates the samples; nil is nvmlx.SystemClock.
	Clock nvmlx.Clock
}

func (o *Options) orDefault() Options {
	var set Options
	if o != nil {
		set = *o
	}
	if set.Library == "" {
		set.Library = "libnvidia-ml.so.1"
	}
	if set.Clock == nil {
		set.Clock = nvmlx.SystemClock()
	}
	return set
}
