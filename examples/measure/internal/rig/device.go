package rig

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"

	"example.com/colloc/nvmlx"
)

// wanted returns the devices to choose from, in the form of CUDA_VISIBLE_DEVICES,
// and who says so: -gpu, else that variable, as a batch system sets it.
func wanted(gpu string) (list, by string) {
	if gpu != "" {
		return gpu, "-gpu " + gpu
	}
	if list, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		return list, "CUDA_VISIBLE_DEVICES=" + list
	}
	return "0", "the first"
}

// chooseDevice finds the first device that is wanted and refuses one that cannot
// be shared as it is set up.
func chooseDevice(devices []nvmlx.DeviceInfo, gpu string) (nvmlx.DeviceInfo, error) {
	list, by := wanted(gpu)
	visible := nvmlx.Visible(devices, list)
	if len(visible) == 0 {
		return nvmlx.DeviceInfo{}, fmt.Errorf("no such GPU here: %s; there are: %s", by, deviceList(devices))
	}
	d := visible[0]
	if d.MIGEnabled.Or(false) && d.Parent == "" {
		return d, fmt.Errorf("GPU %s is in MIG mode: choose one of its instances by its ID with -gpu; there are: %s", d.ID, deviceList(devices))
	}
	if mode := d.ComputeMode.Or(nvmlx.ComputeDefault); mode != nvmlx.ComputeDefault {
		return d, fmt.Errorf("GPU %s has compute mode %q, so that tasks cannot share it without MPS; root can change that: nvidia-smi -i %[1]s -c DEFAULT", d.ID, mode)
	}
	return d, nil
}

// deviceList names what there is, for messages.
func deviceList(devices []nvmlx.DeviceInfo) string {
	var names []string
	for _, d := range devices {
		name := string(d.ID)
		if d.Parent == "" {
			name = strconv.Itoa(d.Index) + " (" + name + ")"
		}
		names = append(names, name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
