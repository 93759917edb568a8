package tracefile

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// readXML reads what nvidia-smi -q -x prints: one document, or several one after
// the other, as with -l. Each gives one sample of each GPU.
func readXML(r *bufio.Reader, c *collector) error {
	x := xmlLog{collector: c}
	in := &io.LimitedReader{R: r, N: MaxJSON + 1}
	dec := xml.NewDecoder(in)
	dec.Strict = false
	for {
		tok, err := dec.RawToken()
		switch {
		case errors.Is(err, io.EOF) && in.N <= 0:
			return fmt.Errorf("the documents are longer than %d bytes", MaxJSON)
		case errors.Is(err, io.EOF):
			if len(x.path) > 0 {
				return fmt.Errorf("offset %d: the document ends inside %s", dec.InputOffset(), clip(x.path[len(x.path)-1]))
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
	*collector
	path   []string
	at     time.Time
	inside bool // a gpu
	gpus   int  // of this document
	labels map[string]string
	row    row
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
			return fmt.Errorf("</%s> ends what did not begin", clip(t.Name.Local))
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
	x.inside, x.row, x.labels = true, row{}, map[string]string{LabelGPU: strconv.Itoa(x.gpus)}
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
	at, err := time.ParseInLocation("Mon Jan _2 15:04:05 2006", string(value), x.zone)
	if err != nil {
		x.warnAt(x.line, "timestamp %q is not Mon Jan 2 15:04:05 2006", clip(value))
		return
	}
	x.at, x.zoneless = at, true
}

// label takes what names the GPU.
func (x *xmlLog) label(name string, value []byte) {
	text := string(value[:min(len(value), maxKey)])
	switch name {
	case "uuid":
		x.labels[LabelUUID] = text
	case "product_name":
		x.labels[LabelName] = text
	case "minor_number":
		if _, err := strconv.Atoi(text); err == nil { // Windows has none
			x.labels[LabelGPU] = text
		}
	}
}

// value takes one measured value: "35 %".
func (x *xmlLog) value(path string, value []byte) {
	var m measure
	switch path {
	case "fb_memory_usage/used":
		m = measure{memUsed, mebi}
	case "utilization/gpu_util":
		m = measure{gpuBusy, percent}
	case "utilization/memory_util":
		m = measure{memBusy, percent}
	case "power_readings/power_draw", "gpu_power_readings/power_draw", "gpu_power_readings/average_power_draw":
		m = measure{power, one}
	case "gpu_power_readings/instant_power_draw":
		if !x.row.PowerWatts.IsZero() {
			return
		}
		m = measure{power, one}
	case "clocks/sm_clock":
		m = measure{smClock, one}
	case "temperature/gpu_temp":
		m = measure{temperature, one}
	default:
		return
	}
	number, unit, _ := strings.Cut(string(value), " ")
	if !x.row.value(&csvColumn{measure: m, unit: []byte(unit)}, []byte(number)) {
		x.warnAt(x.line, "a value that cannot be: %s %q", path, clip(value))
	}
}

func (x *xmlLog) flush() error {
	x.row.At = x.at
	key := x.labels[LabelUUID]
	if key == "" {
		key = x.labels[LabelGPU]
	}
	s, err := x.source([]byte(key), func() map[string]string { return x.labels })
	if err != nil {
		return err
	}
	return x.push(s, &x.row)
}

// wide turns UTF-16 with a byte order mark into UTF-8.
type wide struct {
	r     *bufio.Reader
	begun bool
	big   bool
	high  rune   // the first half of a pair
	out   []byte // not yet read
}

// Read implements io.Reader.
func (w *wide) Read(p []byte) (int, error) {
	for len(w.out) < min(len(p), 4096) {
		var pair [2]byte
		if _, err := io.ReadFull(w.r, pair[:]); err != nil {
			if len(w.out) > 0 {
				break
			}
			return 0, io.EOF // half a unit at the end is none
		}
		if !w.begun {
			w.begun, w.big = true, pair[0] == 0xfe
			continue
		}
		unit := rune(pair[0]) | rune(pair[1])<<8
		if w.big {
			unit = rune(pair[1]) | rune(pair[0])<<8
		}
		switch {
		case w.high != 0:
			w.out = append(w.out, string(utf16.DecodeRune(w.high, unit))...)
			w.high = 0
		case utf16.IsSurrogate(unit):
			w.high = unit
		default:
			w.out = append(w.out, string(unit)...)
		}
	}
	n := copy(p, w.out)
	w.out = w.out[:copy(w.out, w.out[n:])]
	return n, nil
}
