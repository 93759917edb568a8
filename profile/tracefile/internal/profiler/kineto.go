package profiler

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"example.com/colloc/profile/tracefile/internal/gather"
)

// ReadKineto reads the Chrome trace that the PyTorch profiler writes, event by
// event. It becomes one sample for each GPU that ran a kernel, over the time from
// the first to the last activity of any GPU:
//
//	GPU busy      union of kernels, copies and fills / time
//	SM active     Σ duration × min(1, blocks per SM) / time
//	SM occupancy  Σ duration × estimated occupancy / time
//	PCIe          bytes copied between host and device / time
//	memory        the allocator's peak; without the context
//	step time     mean of the marked steps
//
// What the trace does not tell is missing. File.DataWait is the share of the
// marked steps in which the loop waited for its data loader.
func ReadKineto(r *bufio.Reader, c *gather.Collector) error {
	in := &guard{r: r, left: MaxProfile}
	dec := json.NewDecoder(in)
	p := newProfiled()
	p.begun = in.reset
	err := p.document(dec)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("offset %d: the trace is cut off: %w", dec.InputOffset(), io.ErrUnexpectedEOF)
	case err != nil:
		return fmt.Errorf("offset %d: %w", dec.InputOffset(), err)
	}
	return p.finish(c)
}

// document reads {"deviceProperties": [...], ..., "traceEvents": [...]}.
func (p *profiled) document(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		switch key {
		case "traceEvents":
			err = p.events(dec)
		case "deviceProperties":
			var devices []struct {
				ID   int    `json:"id"`
				Name string `json:"name"`
			}
			if err = dec.Decode(&devices); err == nil {
				for _, d := range devices[:min(len(devices), gather.MaxTraces)] {
					p.names[d.ID] = d.Name
				}
			}
		default:
			err = p.skip(dec)
		}
		if err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// skip passes over one value without holding it.
func (p *profiled) skip(dec *json.Decoder) error {
	for depth := 0; ; {
		p.begun()
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxJSONDepth {
				return fmt.Errorf("values nest deeper than %d", maxJSONDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// event is what is read of an event of a Chrome trace.
type event struct {
	Phase    string      `json:"ph"`
	Category string      `json:"cat"`
	Name     string      `json:"name"`
	Start    json.Number `json:"ts"` // microseconds
	Duration json.Number `json:"dur"`
	Args     struct {
		Device     *int            `json:"device"`
		Blocks     json.RawMessage `json:"blocks per SM"`
		Occupancy  json.RawMessage `json:"est. achieved occupancy %"`
		Bytes      json.RawMessage `json:"bytes"`
		Allocated  *int64          `json:"Total Allocated"`
		DeviceType *int            `json:"Device Type"`
		DeviceID   *int            `json:"Device Id"`
	} `json:"args"`
}

func (p *profiled) events(dec *json.Decoder) error {
	if tok, err := dec.Token(); err != nil || tok != json.Delim('[') {
		return errors.Join(err, errors.New("traceEvents is no list"))
	}
	for n := 0; dec.More(); n++ {
		if n >= MaxEvents {
			return fmt.Errorf("more than %d events", MaxEvents)
		}
		var e event
		p.begun()
		if err := dec.Decode(&e); err != nil {
			var kind *json.UnmarshalTypeError
			if errors.As(err, &kind) { // an event of another tool
				continue
			}
			return err
		}
		if err := p.event(&e); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func (p *profiled) event(e *event) error {
	p.note(e.Category)
	start, ok := nanoseconds(e.Start)
	if !ok {
		return nil
	}
	if e.Name == "[memory]" && e.Args.Allocated != nil && e.Args.DeviceType != nil && *e.Args.DeviceType == 1 && e.Args.DeviceID != nil {
		d, err := p.device(*e.Args.DeviceID)
		if err == nil && *e.Args.Allocated < 1<<50 {
			d.peak = max(d.peak, *e.Args.Allocated)
		}
		return err
	}
	length, ok := nanoseconds(e.Duration)
	if e.Phase != "X" || !ok {
		return nil
	}
	s := span{start, start + length}
	category := strings.ToLower(e.Category)
	switch {
	case category == "trace":
		return nil // the recording itself
	case strings.HasPrefix(e.Name, "ProfilerStep#") && !strings.HasPrefix(category, "gpu_"):
		p.steps = append(p.steps[:min(len(p.steps), maxKernels)], s)
		return nil
	case strings.HasPrefix(e.Name, "enumerate(DataLoader)") && !strings.HasPrefix(category, "gpu_"):
		p.waits = append(p.waits[:min(len(p.waits), maxKernels)], s)
	}
	if e.Args.Device == nil {
		return nil
	}
	switch category {
	case "kernel":
		return p.kernel(*e.Args.Device, s, share(e.Args.Blocks, 1), share(e.Args.Occupancy, 100))
	case "gpu_memcpy", "memcpy", "gpu_memset", "memset":
		return p.copied(*e.Args.Device, s, e.Name, share(e.Args.Bytes, 1).Or(0))
	}
	return nil
}

// nanoseconds reads microseconds with up to three decimals.
func nanoseconds(n json.Number) (int64, bool) {
	whole, part, _ := strings.Cut(n.String(), ".")
	us, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || us < 0 || us > math.MaxInt64/4000 {
		return 0, false
	}
	ns, err := strconv.ParseInt((part + "000")[:3], 10, 64)
	return us*1000 + ns, err == nil && ns >= 0
}

// IsKineto recognises the beginning of a Chrome trace.
func IsKineto(text []byte) bool {
	return bytes.Contains(text, []byte(`"traceEvents"`)) || bytes.Contains(text, []byte(`"schemaVersion"`)) && bytes.Contains(text, []byte(`"deviceProperties"`)) ||
		bytes.Contains(text, []byte(`"distributedInfo"`))
}
