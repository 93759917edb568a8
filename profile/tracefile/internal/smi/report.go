package smi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/colloc/profile/tracefile/internal/gather"
)

// ReportHead begins each report.
const ReportHead = "==============NVSMI LOG"

// ReadReport reads the text that nvidia-smi -q prints, once or again and again, as
// with -l. Each report gives one sample of each GPU, as its XML does; what it says
// of MIG devices and processes is passed over.
func ReadReport(r *bufio.Reader, c *gather.Collector) error {
	x := xmlLog{Collector: c}
	var section []byte
	for {
		line, err := c.Next(r)
		if errors.Is(err, io.EOF) {
			return x.leave()
		}
		if err != nil {
			return err
		}
		text := bytes.TrimRight(line, " \t\r\n")
		indent := len(text) - len(bytes.TrimLeft(text, " "))
		name, value, pair := bytes.Cut(text[indent:], []byte(" : "))
		name, value = bytes.TrimSpace(name), bytes.TrimSpace(value)
		switch {
		case indent == 0 && (bytes.HasPrefix(text, []byte(ReportHead)) || !pair && bytes.HasPrefix(text, []byte("GPU "))):
			if err := x.leave(); err != nil {
				return fmt.Errorf("line %d: %w", c.Line, err)
			}
			if text[0] == '=' {
				x.at, x.gpus = time.Time{}, 0
			} else {
				x.enter()
			}
		case indent == 0 && pair && string(name) == "Timestamp":
			x.stamp(value)
		case !x.inside:
		case indent == 4 && pair:
			x.label(reportLabels[string(name)], value)
		case indent == 4:
			section = append(section[:0], name...)
		case indent == 8 && pair:
			x.value(reportValues[string(section)+"/"+string(name)], value)
		}
	}
}

// The names of a report in those of the XML.
//
//nolint:gochecknoglobals // read-only tables
var (
	reportLabels = map[string]string{"Product Name": "product_name", "GPU UUID": "uuid", "Minor Number": "minor_number"}
	reportValues = map[string]string{
		"FB Memory Usage/Used":                        "fb_memory_usage/used",
		"Utilization/Gpu":                             "utilization/gpu_util",
		"Utilization/GPU":                             "utilization/gpu_util",
		"Utilization/Memory":                          "utilization/memory_util",
		"Power Readings/Power Draw":                   "power_readings/power_draw",
		"GPU Power Readings/Power Draw":               "gpu_power_readings/power_draw",
		"GPU Power Readings/Average Power Draw":       "gpu_power_readings/average_power_draw",
		"GPU Power Readings/Instantaneous Power Draw": instantPower,
		"Clocks/SM":                                   "clocks/sm_clock",
		"Temperature/GPU Current Temp":                "temperature/gpu_temp",
	}
)
