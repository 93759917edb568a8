package nvmlx

import (
	"errors"
	"fmt"
)

// The conditions that callers tell apart with errors.Is. Errors of a Source wrap
// one of them and say what was attempted.
var (
	// ErrNoDriver means that the host has no usable NVIDIA driver: the library
	// is not installed or the kernel module is not loaded.
	ErrNoDriver = errors.New("no NVIDIA driver")
	// ErrDriverMismatch means that the installed library and the loaded kernel
	// module are of different versions, as after an upgrade without a reboot.
	ErrDriverMismatch = errors.New("driver and library versions differ")
	// ErrUnavailable means that this build of the program cannot reach the
	// driver, or that the source was closed.
	ErrUnavailable = errors.New("unavailable")
	// ErrNotSupported means that the device, its mode or its driver cannot
	// answer, now or later. It is not worth asking again.
	ErrNotSupported = errors.New("not supported")
	// ErrPermission means that the answer needs more privilege.
	ErrPermission = errors.New("no permission")
	// ErrDeviceLost means that a device fell off the bus or needs a reset. It
	// does not come back to this source; other devices are not concerned.
	ErrDeviceLost = errors.New("device lost")
	// ErrNoDevice means that the source has no device of that ID.
	ErrNoDevice = errors.New("no such device")
	// ErrTransient means that an attempt failed for a reason that may pass, such
	// as a time-out in the driver.
	ErrTransient = errors.New("failed for the moment")
	// ErrDamaged means that a recording cannot be read from some line on. Nothing
	// more comes from it, for any device.
	ErrDamaged = errors.New("damaged recording")
)

// cause is why one counter is missing: 0 where nothing is known, else one plus
// an index into causes.
type cause uint8

// causes are the sentinels in the order of their numbers; their texts are what
// recordings hold, so neither texts nor order may change.
//
//nolint:gochecknoglobals // read-only table
var causes = []error{
	ErrNotSupported, ErrPermission, ErrDeviceLost, ErrTransient,
	ErrNoDriver, ErrDriverMismatch, ErrUnavailable, ErrNoDevice,
}

// causeOf finds the first sentinel that err wraps; an error of another kind is
// transient.
func causeOf(err error) cause {
	if err == nil {
		return 0
	}
	for i, c := range causes {
		if errors.Is(err, c) {
			return cause(i + 1)
		}
	}
	return causeOf(ErrTransient)
}

func (c cause) err() error {
	if c == 0 || int(c) > len(causes) {
		return nil
	}
	return causes[c-1]
}

// MarshalText writes the sentinel's text.
func (c cause) MarshalText() ([]byte, error) {
	err := c.err()
	if err == nil {
		return nil, fmt.Errorf("nvmlx: cause %d has no name", c)
	}
	return []byte(err.Error()), nil
}

// UnmarshalText reads what MarshalText writes.
func (c *cause) UnmarshalText(text []byte) error {
	for i, err := range causes {
		if err.Error() == string(text) {
			*c = cause(i + 1)
			return nil
		}
	}
	return fmt.Errorf("nvmlx: unknown cause %q; known are the texts of the package's sentinels, such as %q", text, ErrNotSupported.Error())
}
