//go:build linux && cgo

package gonvml

import (
	"fmt"
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
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

// bytesOf takes NVML's all-ones for missing.
func bytesOf(n uint64) profile.Opt[profile.Bytes] {
	if n > math.MaxInt64 {
		return profile.Opt[profile.Bytes]{}
	}
	return profile.Some(profile.Bytes(n))
}

// percent converts 0 to 100 to a ratio; what is further off is NVML's way to say
// that there is no value. GPM rounds up to a little above 100.
func percent(x float64) profile.Opt[float64] {
	if !(x >= 0 && x <= 101) {
		return profile.Opt[float64]{}
	}
	return profile.Some(min(x/100, 1))
}

// scaled converts a number of NVML, of which so many are one; all ones is missing.
func scaled(n uint32, one float64) profile.Opt[float64] {
	if n == math.MaxUint32 {
		return profile.Opt[float64]{}
	}
	return profile.Some(float64(n) / one)
}

// text converts a C text.
func text(chars []int8) string {
	var out []byte
	for _, c := range chars {
		if c == 0 {
			break
		}
		out = append(out, byte(c))
	}
	return string(out)
}
