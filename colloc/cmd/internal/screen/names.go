package screen

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
)

// Names are short names of devices, for people: their numbers, as nvidia-smi gives
// them. IDs that are short enough stay.
type Names struct {
	short map[nvmlx.DeviceID]string
	texts *strings.Replacer
}

const longID = 12 // characters of an ID that people can read

// NewNames returns those of the devices of a host.
func NewNames(devices []nvmlx.DeviceInfo) *Names {
	n := &Names{short: make(map[nvmlx.DeviceID]string)}
	var pairs []string
	for _, d := range devices {
		if len(d.ID) <= longID {
			continue
		}
		name := strconv.Itoa(d.Index)
		text := "GPU " + name
		if d.Parent != "" {
			name = fmt.Sprintf("mig%d", d.Index)
			text = name
		}
		n.short[d.ID] = name
		pairs = append(pairs, "GPU "+string(d.ID), text, string(d.ID), text)
	}
	n.texts = strings.NewReplacer(pairs...)
	return n
}

// of is the name of a device in a column.
func (n *Names) of(id nvmlx.DeviceID) string {
	if n != nil && n.short[id] != "" {
		return n.short[id]
	}
	return string(id)
}

// all names the devices of a task in a column.
func (n *Names) all(r *runner.Record) string {
	if len(r.GPUs) == 0 {
		return n.of(r.GPU)
	}
	var all []string
	for _, id := range r.GPUs {
		all = append(all, n.of(id))
	}
	return strings.Join(all, ",")
}

// in replaces the IDs in a text.
func (n *Names) in(text string) string {
	if n == nil {
		return text
	}
	return n.texts.Replace(text)
}
