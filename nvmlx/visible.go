package nvmlx

import (
	"slices"
	"strconv"
	"strings"
)

// Visible returns the devices that a list in the form of CUDA_VISIBLE_DEVICES
// names, in its order: numbers of GPUs, and IDs of GPUs or MIG instances or
// beginnings of them, separated by commas. As in CUDA the list ends before the
// first entry that names no device, or more than one.
//
// A number is the driver's here. CUDA's own is the same if all GPUs are of one
// product or CUDA_DEVICE_ORDER is PCI_BUS_ID. O(devices × entries).
func Visible(devices []DeviceInfo, list string) []DeviceInfo {
	var visible []DeviceInfo
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(devices, func(d DeviceInfo) bool {
			return string(d.ID) == name || d.Parent == "" && strconv.Itoa(d.Index) == name
		})
		if i < 0 && (strings.HasPrefix(name, "GPU-") || strings.HasPrefix(name, "MIG-")) {
			begins := func(d DeviceInfo) bool { return strings.HasPrefix(string(d.ID), name) }
			if i = slices.IndexFunc(devices, begins); i >= 0 && slices.ContainsFunc(devices[i+1:], begins) {
				i = -1
			}
		}
		if i < 0 {
			break
		}
		visible = append(visible, devices[i])
	}
	return visible
}

// Runnable returns the devices that programs run on: MIG instances, and GPUs
// that are not in MIG mode. A GPU in MIG mode without instances runs nothing.
func Runnable(devices []DeviceInfo) []DeviceInfo {
	cut := make(map[DeviceID]bool)
	for _, d := range devices {
		cut[d.Parent] = true
	}
	return slices.DeleteFunc(slices.Clone(devices), func(d DeviceInfo) bool {
		return d.Parent == "" && (cut[d.ID] || d.MIGEnabled.Or(false))
	})
}
