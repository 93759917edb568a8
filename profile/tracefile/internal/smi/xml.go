package smi

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/tracefile/internal/gather"
)

// ReadXML reads what nvidia-smi -q -x prints: one document, or several one after
// the other, as with -l. Each gives one sample of each GPU.
func ReadXML(r *bufio.Reader, c *gather.Collector) error {
	x := xmlLog{Collector: c}
	in := &io.LimitedReader{R: r, N: gather.MaxJSON + 1}
	dec := xml.NewDecoder(in)
	dec.Strict = false
	for {
		tok, err := dec.RawToken()
		switch {
		case errors.Is(err, io.EOF) && in.N <= 0:
			return fmt.Errorf("the documents are longer than %d bytes", gather.MaxJSON)
		case errors.Is(err, io.EOF):
			if len(x.path) > 0 {
				return fmt.Errorf("offset %d: the document ends inside %s", dec.InputOffset(), reading.Clip(x.path[len(x.path)-1]))
			}
			return nil
		case err != nil:
			return fmt.Errorf("offset %d: %w", dec.InputOffset(), err)
		}
		if err := x.token(tok); err != nil {
			return fmt.Errorf("offset %d: %w", dec.InputOffset(), err)
		}
	}
}

// xmlLog is the state of reading one log.
type xmlLog struct {
	*gather.Collector
	path   []string
	at     time.Time
	inside bool // a gpu
	gpus   int  // of this document
	labels map[string]string
	row    gather.Row
}

const maxXMLDepth = 64

func (x *xmlLog) token(tok xml.Token) error {
	switch t := tok.(type) {
	case xml.StartElement:
		if len(x.path) >= maxXMLDepth {
			return fmt.Errorf("elements nest deeper than %d", maxXMLDepth)
		}
		x.path = append(x.path, t.Name.Local)
		switch t.Name.Local {
		case "nvidia_smi_log":
			x.at, x.gpus = time.Time{}, 0
		case "gpu":
			x.enter()
		}
	case xml.CharData:
		x.text(bytes.TrimSpace(t))
	case xml.EndElement:
		if len(x.path) == 0 || x.path[len(x.path)-1] != t.Name.Local {
			return fmt.Errorf("</%s> ends what did not begin", reading.Clip(t.Name.Local))
		}
		x.path = x.path[:len(x.path)-1]
		if t.Name.Local == "gpu" {
			return x.leave()
		}
	}
	return nil
}

// text takes the value of the element that is open.
func (x *xmlLog) text(value []byte) {
	n := len(x.path)
	if len(value) == 0 || n < 2 {
		return
	}
	name, around := x.path[n-1], x.path[n-2]
	switch {
	case name == "timestamp" && around == "nvidia_smi_log":
		x.stamp(value)
	case !x.inside:
	case around == "gpu":
		x.label(name, value)
	default:
		x.value(around+"/"+name, value)
	}
}

// enter begins a GPU, leave ends it.
func (x *xmlLog) enter() {
	x.inside, x.row, x.labels = true, gather.Row{}, map[string]string{gather.LabelGPU: strconv.Itoa(x.gpus)}
	x.gpus++
}

func (x *xmlLog) leave() error {
	if !x.inside {
		return nil
	}
	x.inside = false
	return x.flush()
}

func (x *xmlLog) stamp(value []byte) {
	at, err := time.ParseInLocation("Mon Jan _2 15:04:05 2006", string(value), x.Zone)
	if err != nil {
		x.WarnAt(x.Line, "timestamp %q is not Mon Jan 2 15:04:05 2006", reading.Clip(value))
		return
	}
	x.at, x.Zoneless = at, true
}

// label takes what names the GPU.
func (x *xmlLog) label(name string, value []byte) {
	text := string(value[:min(len(value), gather.MaxKey)])
	switch name {
	case "uuid":
		x.labels[gather.LabelUUID] = text
	case "product_name":
		x.labels[gather.LabelName] = text
	case "minor_number":
		if _, err := strconv.Atoi(text); err == nil { // Windows has none
			x.labels[gather.LabelGPU] = text
		}
	}
}

// xmlMeasures are the values that are read, by element and the one around it.
//
//nolint:gochecknoglobals // read-only table
var xmlMeasures = map[string]gather.Measure{
	"fb_memory_usage/used":                  gather.MemUsed.In(gather.Mebi),
	"utilization/gpu_util":                  gather.GPUBusy.In(gather.Percent),
	"utilization/memory_util":               gather.MemBusy.In(gather.Percent),
	"power_readings/power_draw":             gather.Power.In(gather.One),
	"gpu_power_readings/power_draw":         gather.Power.In(gather.One),
	"gpu_power_readings/average_power_draw": gather.Power.In(gather.One),
	instantPower:                            gather.Power.In(gather.One),
	"clocks/sm_clock":                       gather.SMClock.In(gather.One),
	"temperature/gpu_temp":                  gather.Temperature.In(gather.One),
}

// instantPower counts where there is no other.
const instantPower = "gpu_power_readings/instant_power_draw"

// value takes one measured value: "35 %".
func (x *xmlLog) value(path string, value []byte) {
	m, ok := xmlMeasures[path]
	if !ok || path == instantPower && !x.row.PowerWatts.IsZero() {
		return
	}
	if col := (csvColumn{measure: m}); !col.put(&x.row, value) {
		x.WarnAt(x.Line, "a value that cannot be: %s %q", path, reading.Clip(value))
	}
}

func (x *xmlLog) flush() error {
	x.row.At = x.at
	key := x.labels[gather.LabelUUID]
	if key == "" {
		key = x.labels[gather.LabelGPU]
	}
	s, err := x.Source([]byte(key), func() map[string]string { return x.labels })
	if err != nil {
		return err
	}
	return x.Push(s, &x.row)
}
