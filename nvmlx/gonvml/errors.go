//go:build linux && cgo

package gonvml

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
)

// sentinel maps a return code of NVML. Success, and codes that mean "nothing
// there at the moment", are nil.
//
// A nvml.Return must never be printed: its Error method calls into the library,
// by a function that the library may not have.
func sentinel(code nvml.Return) error {
	switch code {
	case nvml.SUCCESS, nvml.ERROR_NOT_FOUND, nvml.ERROR_NO_DATA:
		return nil
	case nvml.ERROR_LIBRARY_NOT_FOUND, nvml.ERROR_DRIVER_NOT_LOADED:
		return nvmlx.ErrNoDriver
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return nvmlx.ErrDriverMismatch
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_FUNCTION_NOT_FOUND, nvml.ERROR_ARGUMENT_VERSION_MISMATCH,
		nvml.ERROR_DEPRECATED:
		return nvmlx.ErrNotSupported
	case nvml.ERROR_NO_PERMISSION:
		return nvmlx.ErrPermission
	case nvml.ERROR_GPU_IS_LOST, nvml.ERROR_RESET_REQUIRED, nvml.ERROR_GPU_NOT_FOUND:
		return nvmlx.ErrDeviceLost
	case nvml.ERROR_UNINITIALIZED:
		return nvmlx.ErrUnavailable
	default:
		return nvmlx.ErrTransient
	}
}

// failure describes a failed call, or is nil if sentinel is.
func failure(what string, code nvml.Return) error {
	if err := sentinel(code); err != nil {
		return fmt.Errorf("%s: NVML code %d: %w", what, int(code), err)
	}
	return nil
}
