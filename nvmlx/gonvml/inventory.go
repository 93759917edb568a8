//go:build linux && cgo

package gonvml

import (
	"context"
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Devices lists the GPUs, each followed by its MIG instances. It asks the driver
// anew, so it also finds instances that were made since. A GPU whose handle
// cannot be had, because it is lost or closed to this user, is left out; if that
// is so for every GPU, the error says why.
func (s *source) Devices(ctx context.Context) ([]nvmlx.DeviceInfo, error) {
	leave, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("gonvml: devices: %w", err)
	}
	defer leave()
	count, code := s.lib.api.DeviceGetCount()
	if err := failure("count", code); err != nil {
		return nil, fmt.Errorf("gonvml: devices: %w", err)
	}
	var list []nvmlx.DeviceInfo
	var refused []error
	for i := range count {
		d, info, err := s.gpuAt(i)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		list = append(list, info)
		if d.cut {
			for _, instance := range s.instances(d) {
				list = append(list, instance.device(info))
			}
		}
	}
	if len(list) == 0 && len(refused) > 0 {
		return nil, fmt.Errorf("gonvml: devices: %w", errors.Join(refused...))
	}
	return list, nil
}

// gpuAt describes the GPU of an index.
func (s *source) gpuAt(index int) (*device, nvmlx.DeviceInfo, error) {
	handle, code := s.lib.api.DeviceGetHandleByIndex(index)
	if err := failure(fmt.Sprintf("GPU %d", index), code); err != nil {
		return nil, nvmlx.DeviceInfo{}, err
	}
	id, code := handle.GetUUID()
	if err := failure(fmt.Sprintf("UUID of GPU %d", index), code); err != nil {
		return nil, nvmlx.DeviceInfo{}, err
	}
	if handle == nil || id == "" {
		return nil, nvmlx.DeviceInfo{}, fmt.Errorf("GPU %d has no UUID: %w", index, nvmlx.ErrTransient)
	}
	info := nvmlx.DeviceInfo{ID: nvmlx.DeviceID(id), Index: index}
	s.describe(&info, handle)
	d := s.adopt(device{id: info.ID, handle: handle, gpuInstance: -1, cut: info.MIGEnabled.Or(false)})
	if s.lib.has("nvmlGpmQueryDeviceSupport") {
		if support, code := handle.GpmQueryDeviceSupport(); code == nvml.SUCCESS {
			info.GPM = profile.Some(support.IsSupportedDevice != 0)
		}
	}
	if list, err := s.processes(d); err == nil && s.lib.has("nvmlDeviceGetMPSComputeRunningProcesses") {
		mps := false
		for _, p := range list {
			mps = mps || p.Kind == nvmlx.MPSProcess
		}
		info.MPSActive = profile.Some(mps)
	}
	return d, info, nil
}

// describe fills in what the driver says about a GPU.
func (s *source) describe(info *nvmlx.DeviceInfo, handle nvml.Device) {
	has := s.lib.has
	if has("nvmlDeviceGetName") {
		if name, code := handle.GetName(); code == nvml.SUCCESS {
			info.Name = name
		}
	}
	if has("nvmlDeviceGetPciInfo") {
		if pci, code := handle.GetPciInfo(); code == nvml.SUCCESS {
			info.PCIBusID = text(pci.BusId[:])
		}
	}
	if has("nvmlDeviceGetCudaComputeCapability") {
		if major, minor, code := handle.GetCudaComputeCapability(); code == nvml.SUCCESS {
			info.ComputeCapability = profile.Some(float64(major*10+minor) / 10)
		}
	}
	info.Memory, info.MemReserved = s.memory(handle)
	if has("nvmlDeviceGetNumaNodeId") {
		if node, code := handle.GetNumaNodeId(); code == nvml.SUCCESS && node >= 0 && node < 1<<16 {
			info.NUMANode = profile.Some(node)
		}
	}
	if has("nvmlDeviceGetComputeMode") {
		if mode, code := handle.GetComputeMode(); code == nvml.SUCCESS {
			info.ComputeMode = profile.Some(nvmlx.ComputeMode(mode))
		}
	}
	if has("nvmlDeviceGetMigMode") {
		switch current, _, code := handle.GetMigMode(); code {
		case nvml.SUCCESS:
			info.MIGEnabled = profile.Some(current == nvml.DEVICE_MIG_ENABLE)
		case nvml.ERROR_NOT_SUPPORTED:
			info.MIGEnabled = profile.Some(false)
		default: // cannot be told
		}
	}
}

// memory returns the total memory of a device and the part that the driver keeps
// for itself.
func (s *source) memory(handle nvml.Device) (total, reserved profile.Opt[profile.Bytes]) {
	if s.lib.has("nvmlDeviceGetMemoryInfo_v2") {
		if m, code := handle.GetMemoryInfo_v2(); code == nvml.SUCCESS {
			return bytesOf(m.Total), bytesOf(m.Reserved)
		}
	}
	if s.lib.has("nvmlDeviceGetMemoryInfo") {
		if m, code := handle.GetMemoryInfo(); code == nvml.SUCCESS {
			total = bytesOf(m.Total)
		}
	}
	return total, reserved
}
