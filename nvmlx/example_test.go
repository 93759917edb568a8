package nvmlx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"example.com/colloc/nvmlx"
)

// recording is what Record wrote on a host with one GPU.
const recording = `{"format":"nvmlx-trace","version":1,"system":{"driver":"580.95.05"},"devices":[{"id":"GPU-7c1a","index":0,"name":"NVIDIA A100-SXM4-40GB"}]}
{"device":"GPU-7c1a","at":"2026-03-01T12:00:00Z","gpu_busy":0.93,"mem_used":4294967296,"missing":{"sm_active":"not supported"}}
{"device":"GPU-7c1a","at":"2026-03-01T12:00:01Z","gpu_busy":0.41,"mem_used":4294967296,"missing":{"sm_active":"not supported"}}
{"device":"GPU-7c1a","error":"device lost"}
`

func ExampleReplay() {
	ctx := context.Background()
	src, err := nvmlx.Replay(strings.NewReader(recording), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	devices, _ := src.Devices(ctx)
	for {
		s, err := src.Read(ctx, devices[0].ID, nvmlx.FieldsAll)
		if err != nil {
			fmt.Println(err, errors.Is(err, nvmlx.ErrDeviceLost))
			return
		}
		fmt.Printf("%s busy %.2f, %v used, SM activity %v: %v\n", s.At.Format("15:04:05"),
			s.GPUBusy.Or(0), s.MemUsed, s.SMActive, s.Missing.Why(nvmlx.FieldSMActive))
	}
	// Output:
	// 12:00:00 busy 0.93, 4 GiB used, SM activity missing: not supported
	// 12:00:01 busy 0.41, 4 GiB used, SM activity missing: not supported
	// nvmlx: replay: read GPU-7c1a: device lost true
}

func ExampleRecord() {
	// Any Source can be recorded; here it is a recording itself.
	src, err := nvmlx.Replay(strings.NewReader(recording), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	rec := nvmlx.Record(&file, src)
	for {
		if _, err := rec.Read(context.Background(), "GPU-7c1a", nvmlx.FieldGPUBusy); err != nil {
			break
		}
	}
	if err := rec.Close(); err != nil { // also tells whether the recording is whole
		fmt.Println(err)
	}
	_, _ = io.Copy(stdout{}, &file)
	// Output:
	// {"format":"nvmlx-trace","version":1,"system":{"driver":"580.95.05"},"devices":[{"id":"GPU-7c1a","index":0,"name":"NVIDIA A100-SXM4-40GB"}]}
	// {"device":"GPU-7c1a","at":"2026-03-01T12:00:00Z","gpu_busy":0.93}
	// {"device":"GPU-7c1a","at":"2026-03-01T12:00:01Z","gpu_busy":0.41}
	// {"device":"GPU-7c1a","error":"device lost"}
}

func ExampleSampler() {
	// A recording played as fast as can be. On a host with GPUs the source is
	// gonvml.Open(nil), and the clock is left out.
	src, err := nvmlx.Replay(strings.NewReader(recording), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	sampler := nvmlx.NewSampler(src, &nvmlx.SamplerConfig{
		Clock:   nvmlx.NewVirtualClock(time.Time{}),
		Fields:  nvmlx.FieldGPUBusy | nvmlx.FieldMemUsed,
		OnEvent: func(e nvmlx.Event) { fmt.Println(e.Device, e.Kind) },
	})
	err = sampler.Run(context.Background(), func(s nvmlx.Sample) {
		fmt.Println(s.Device, s.At.Format("15:04:05"), s.Window, s.GPUBusy)
	})
	fmt.Println(err)
	// Output:
	// GPU-7c1a 12:00:00 0s 0.93
	// GPU-7c1a 12:00:01 1s 0.41
	// GPU-7c1a lost
	// nvmlx: replay: read GPU-7c1a: device lost
}

// stdout writes to the standard output of the moment, which examples replace.
type stdout struct{}

func (stdout) Write(p []byte) (int, error) { return fmt.Print(string(p)) }

// Programs give the sampler the machine's clock, tests a virtual one.
func ExampleSystemClock() {
	clock := nvmlx.SystemClock()
	start := clock.Now()
	fmt.Println(!clock.Now().Before(start))
	// Output:
	// true
}
