package profiler

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/tracefile/internal/gather"
)

// ReadNsys reads the CSV that nsys stats -r cuda_gpu_trace --format csv prints:
// start and duration of each kernel and copy. It becomes one sample a GPU, as
// ReadKineto's, over all activity.
func ReadNsys(r *bufio.Reader, c *gather.Collector) error {
	bound := &guard{r: r, left: MaxProfile, keep: true}
	in := csv.NewReader(bound)
	in.FieldsPerRecord, in.ReuseRecord, in.LazyQuotes = -1, true, true
	p := newProfiled()
	columns := map[string]int{}
	var sum kernelSum
	ids := map[string]int{} // names of devices in order
	for line := 1; ; line++ {
		bound.reset()
		cells, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return errors.Join(sum.refuse(p.kernels), p.finish(c))
		case err != nil:
			return fmt.Errorf("line %d: %w", line, err)
		case IsNsys([]byte(strings.Join(cells[:min(len(cells), 2)], ","))):
			sum.open = !strings.HasPrefix(cells[0], "Start")
			clear(columns)
			for i, name := range cells[:min(len(cells), 100)] {
				columns[strings.Replace(strings.TrimSpace(name), "Time(", "Time (", 1)] = i
			}
			continue
		case len(columns) == 0:
			continue // what nsys says before its tables
		}
		cell := func(name string) string {
			if i, ok := columns[name]; ok && i < len(cells) {
				return cells[i]
			}
			return ""
		}
		if sum.open {
			sum.add(cell)
			continue
		}
		start, err1 := strconv.ParseInt(cell("Start (ns)"), 10, 64)
		length, err2 := strconv.ParseInt(cell("Duration (ns)"), 10, 64)
		if err1 != nil || err2 != nil || start < 0 || length < 0 || start > 1<<61 || length > 1<<61 {
			c.WarnAt(line, "no start and duration in whole nanoseconds: %q", reading.Clip(strings.Join(cells, ",")))
			continue
		}
		id, ok := ids[cell("Device")]
		if !ok {
			id = len(ids)
			ids[strings.Clone(cell("Device"))] = id
			p.names[id] = strings.Clone(cell("Device"))
		}
		s, name := span{start, start + length}, cell("Name")
		if strings.HasPrefix(name, "[CUDA mem") {
			bytes := share(json.RawMessage(cell("Bytes (MB)")), 1e-6)
			err = p.copied(id, s, name, bytes.Or(0))
		} else {
			err = p.kernel(id, s, profile.Opt[float64]{}, profile.Opt[float64]{})
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// kernelSum is what nsys stats -r cuda_gpu_kern_sum tells.
type kernelSum struct {
	open              bool // its table is read
	kernels, launches int
	total             float64 // nanoseconds
}

func (k *kernelSum) add(cell func(string) string) {
	total, err1 := strconv.ParseFloat(cell("Total Time (ns)"), 64)
	launches, err2 := strconv.Atoi(cell("Instances"))
	if err1 == nil && err2 == nil && total >= 0 && launches >= 0 {
		k.kernels, k.launches, k.total = k.kernels+1, k.launches+launches, k.total+total
	}
}

// refuse says why a summary is no sample: a share wants the time that was watched
// and how far kernels overlap. Where activities stand beside it, they are enough.
func (k *kernelSum) refuse(activities int) error {
	if k.kernels == 0 || activities > 0 {
		return nil
	}
	return fmt.Errorf("%w: a summary of %d kernels, %.6g s in %d launches, but not over which time, nor how they overlap: print it with -r cuda_gpu_trace",
		gather.ErrOther, k.kernels, k.total/1e9, k.launches)
}

// IsNsys recognises the header of a table of nsys stats.
func IsNsys(line []byte) bool {
	for _, head := range []string{"Start (ns),Duration (ns)", "Time (%),Total Time (ns)", "Time(%),Total Time (ns)"} {
		if bytes.HasPrefix(line, []byte(head)) {
			return true
		}
	}
	return false
}
