//go:build !linux && !darwin

package burn

import (
	"errors"
	"os"
	"time"
)

// errNoFake says that fake GPUs rest on file locks and signals.
var errNoFake = errors.New("fake GPUs need Linux or macOS")

func spin(time.Duration) {}

func lockFile(*os.File) error { return errNoFake }

func unlockFile(*os.File) error { return errNoFake }

func alive(int) bool { return false }
