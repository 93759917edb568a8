//go:build linux && cgo

package gonvml

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// MIG describes how a GPU is cut. It returns ErrNotSupported for a GPU that
// cannot be, for an instance, and for drivers without MIG.
func (s *source) MIG(ctx context.Context, id nvmlx.DeviceID) (nvmlx.MIGInventory, error) {
	d, leave, err := s.enter(ctx, id)
	if err != nil {
		return nvmlx.MIGInventory{}, fmt.Errorf("gonvml: MIG of %s: %w", id, err)
	}
	defer leave()
	if d.parent != nil || !s.lib.has("nvmlDeviceGetMigMode") {
		return nvmlx.MIGInventory{}, fmt.Errorf("gonvml: MIG of %s: no MIG mode here: %w", id, nvmlx.ErrNotSupported)
	}
	current, pending, code := d.handle.GetMigMode()
	if err := failure("mode", code); err != nil {
		return nvmlx.MIGInventory{}, fmt.Errorf("gonvml: MIG of %s: %w", id, err)
	}
	inventory := nvmlx.MIGInventory{Enabled: current == nvml.DEVICE_MIG_ENABLE, Pending: pending == nvml.DEVICE_MIG_ENABLE}
	if s.lib.has("nvmlDeviceGetMaxMigDeviceCount") {
		if n, code := d.handle.GetMaxMigDeviceCount(); code == nvml.SUCCESS {
			inventory.MaxInstances = profile.Some(n)
		}
	}
	if inventory.Enabled {
		for _, instance := range s.instances(d) {
			inventory.Instances = append(inventory.Instances, instance.MIGInstance)
		}
	}
	return inventory, nil
}

// instance is a MIG instance with what else was learned on the way.
type instance struct {
	nvmlx.MIGInstance
	reserved profile.Opt[profile.Bytes]
}

// mostInstances is more than any GPU has.
const mostInstances = 64

// instances finds the MIG instances of a GPU and makes them known as devices.
func (s *source) instances(gpu *device) []instance {
	has := s.lib.has
	if !has("nvmlDeviceGetMigDeviceHandleByIndex") || !has("nvmlDeviceGetMaxMigDeviceCount") {
		return nil
	}
	count, code := gpu.handle.GetMaxMigDeviceCount()
	if code != nvml.SUCCESS {
		return nil
	}
	var list []instance
	for i := range min(count, mostInstances) {
		handle, code := gpu.handle.GetMigDeviceHandleByIndex(i)
		if code != nvml.SUCCESS { // indices have gaps: NOT_FOUND
			continue
		}
		id, code := handle.GetUUID()
		if code != nvml.SUCCESS || id == "" {
			continue
		}
		one := instance{MIGInstance: nvmlx.MIGInstance{ID: nvmlx.DeviceID(id), Index: i}}
		s.describeInstance(&one, handle)
		s.adopt(device{id: one.ID, handle: handle, parent: gpu, gpuInstance: one.GPUInstance.Or(-1)})
		list = append(list, one)
	}
	return list
}

func (s *source) describeInstance(one *instance, handle nvml.Device) {
	has := s.lib.has
	if has("nvmlDeviceGetGpuInstanceId") {
		if n, code := handle.GetGpuInstanceId(); code == nvml.SUCCESS {
			one.GPUInstance = profile.Some(n)
		}
	}
	if has("nvmlDeviceGetComputeInstanceId") {
		if n, code := handle.GetComputeInstanceId(); code == nvml.SUCCESS {
			one.ComputeInstance = profile.Some(n)
		}
	}
	one.Memory, one.reserved = s.memory(handle)
	if !has("nvmlDeviceGetAttributes") {
		return
	}
	if a, code := handle.GetAttributes(); code == nvml.SUCCESS {
		one.GPUSlices = profile.Some(int(a.GpuInstanceSliceCount))
		one.ComputeSlices = profile.Some(int(a.ComputeInstanceSliceCount))
		one.SMs = profile.Some(int(a.MultiprocessorCount))
		if _, ok := one.Memory.Get(); !ok {
			one.Memory = profile.Some(profile.Bytes(a.MemorySizeMB) * profile.MiB)
		}
	}
}

// device describes the instance as a device of its own.
func (i *instance) device(gpu nvmlx.DeviceInfo) nvmlx.DeviceInfo {
	return nvmlx.DeviceInfo{
		ID: i.ID, Parent: gpu.ID, Index: i.Index, Name: gpu.Name, PCIBusID: gpu.PCIBusID,
		ComputeCapability: gpu.ComputeCapability, Memory: i.Memory, MemReserved: i.reserved, SMs: i.SMs,
		NUMANode: gpu.NUMANode, ComputeMode: gpu.ComputeMode, GPM: gpu.GPM,
	}
}
