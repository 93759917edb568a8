package tracefile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.com/colloc/profile"
	"example.com/colloc/profile/tracefile/internal/gather"
)

// The recording format is that of package nvmlx: JSON Lines whose first line is
// a header and whose rows are a device and a profile.Sample. Rows of another
// kind (processes, MIG, events, errors) are passed over.
const (
	recordingFormat  = "nvmlx-trace"
	recordingVersion = 1
)

// recordingHeader is the first line. Labels are an addition that nvmlx ignores.
type recordingHeader struct {
	Format  string                       `json:"format"`
	Version int                          `json:"version"`
	Devices []recordingDevice            `json:"devices"`
	Labels  map[string]map[string]string `json:"labels,omitempty"`
}

type recordingDevice struct {
	ID    string `json:"id"`
	Index int    `json:"index"`
	Name  string `json:"name,omitempty"`
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
	var head *recordingHeader
	names := map[string]recordingDevice{}
	return c.Each(r, func(line []byte) error {
		if head == nil {
			head = &recordingHeader{}
			if err := json.Unmarshal(line, head); err != nil {
				return fmt.Errorf("header: %w", err)
			}
			if head.Format != recordingFormat || head.Version < 1 || head.Version > recordingVersion {
				return fmt.Errorf("header: format %q version %d; versions 1 to %d of %q are read",
					gather.Clip(head.Format), head.Version, recordingVersion, recordingFormat)
			}
			for _, d := range head.Devices {
				names[d.ID] = d
			}
			return nil
		}
		return record(c, head, names, line)
	})
}

func record(c *gather.Collector, head *recordingHeader, names map[string]recordingDevice, line []byte) error {
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
		if known := head.Labels[in.Device]; known != nil {
			return known
		}
		if d, ok := names[in.Device]; ok && d.Name != "" {
			labels[gather.LabelName] = d.Name
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

// Write writes traces as a recording that [Read] and nvmlx.Replay read. Each
// trace becomes a device, named by its uuid label if no other trace has it;
// the samples of all are written trace by trace. Samples need a time.
func Write(w io.Writer, traces ...profile.Trace) error {
	head := recordingHeader{
		Format: recordingFormat, Version: recordingVersion,
		Devices: []recordingDevice{}, Labels: map[string]map[string]string{},
	}
	for i, t := range traces {
		id := t.Labels[gather.LabelUUID]
		if _, taken := head.Labels[id]; taken || id == "" {
			id = fmt.Sprintf("trace-%d", i)
		}
		labels := t.Labels
		if labels == nil {
			labels = map[string]string{}
		}
		head.Labels[id] = labels
		head.Devices = append(head.Devices, recordingDevice{ID: id, Index: i, Name: t.Labels[gather.LabelName]})
	}
	out := json.NewEncoder(w)
	if err := out.Encode(head); err != nil {
		return fmt.Errorf("tracefile: write: %w", err)
	}
	for i, t := range traces {
		for n := range t.Samples {
			if t.Samples[n].At.IsZero() {
				return fmt.Errorf("tracefile: write: trace %d: sample %d has no time", i, n)
			}
			if err := out.Encode(recordingRow{head.Devices[i].ID, t.Samples[n]}); err != nil {
				return fmt.Errorf("tracefile: write: trace %d: sample %d: %w", i, n, err)
			}
		}
	}
	return nil
}
