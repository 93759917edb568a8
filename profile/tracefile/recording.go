package tracefile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/tracefile/internal/gather"
)

// The recording format is that of package nvmlx: JSON Lines whose first line is
// a header and whose rows are a device and a profile.Sample. Rows of another
// kind (processes, MIG, events, errors) are passed over.
const (
	recordingFormat  = "nvmlx-trace"
	recordingVersion = 1
)

// recordingHeader is the first line.
type recordingHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Devices []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"devices"`
}

type recordingRow struct {
	Device string `json:"device"`
	profile.Sample
}

// recordingOther names the keys of the rows that hold no sample.
type recordingOther struct {
	Error, Processes, MIG, Event json.RawMessage
}

func readRecording(r *bufio.Reader, c *gather.Collector) error {
	begun := false
	names := map[string]string{}
	return c.Each(r, func(line []byte) error {
		if !begun {
			var head recordingHeader
			begun = true
			if err := json.Unmarshal(line, &head); err != nil {
				return fmt.Errorf("header: %w", err)
			}
			if head.Format != recordingFormat || head.Version < 1 || head.Version > recordingVersion {
				return fmt.Errorf("header: format %q version %d; versions 1 to %d of %q are read",
					reading.Clip(head.Format), head.Version, recordingVersion, recordingFormat)
			}
			for _, d := range head.Devices {
				names[d.ID] = d.Name
			}
			return nil
		}
		return record(c, names, line)
	})
}

func record(c *gather.Collector, names map[string]string, line []byte) error {
	var other recordingOther
	var in recordingRow
	if err := errors.Join(json.Unmarshal(line, &other), json.Unmarshal(line, &in)); err != nil {
		c.Warn("not a row: %v", err)
		return nil
	}
	if other.Error != nil || other.Processes != nil || other.MIG != nil || other.Event != nil {
		return nil
	}
	s, err := c.Source([]byte(in.Device), func() map[string]string {
		labels := map[string]string{gather.LabelUUID: in.Device}
		if name := names[in.Device]; name != "" {
			labels[gather.LabelName] = name
		}
		return labels
	})
	if err != nil {
		return err
	}
	s.MIG = false // nvmlx knows what is missing under MIG
	if err := checkSample(&in.Sample); err != nil {
		c.Warn("%v", err)
		return nil
	}
	if in.At.IsZero() {
		c.Warn("a row without time")
		return nil
	}
	return c.Push(s, &gather.Row{Sample: in.Sample})
}

// checkSample refuses what no sample can hold.
func checkSample(s *profile.Sample) error {
	for _, o := range []profile.Opt[float64]{
		s.SMActive, s.SMOccupancy, s.TensorActive, s.DRAMActive, s.GPUBusy, s.MemBusy, s.FP32Active, s.CPUBusy,
	} {
		if v := o.Or(0); v < 0 || v > 1 {
			return fmt.Errorf("a ratio of %v", v)
		}
	}
	if s.MemUsed.Or(0) < 0 || s.PowerWatts.Or(0) < 0 || s.Window < 0 || s.StepTime.Or(1) <= 0 {
		return errors.New("a negative amount")
	}
	return nil
}
