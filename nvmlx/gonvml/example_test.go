package gonvml_test

import (
	"context"
	"errors"
	"fmt"

	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/gonvml"
)

func ExampleOpen() {
	// The library of a host that has no driver.
	src, err := gonvml.Open(&gonvml.Options{Library: "libnvidia-ml-missing.so.1"})
	switch {
	case errors.Is(err, nvmlx.ErrNoDriver), errors.Is(err, nvmlx.ErrUnavailable):
		fmt.Println("no GPU here: replay a recording instead")
		return
	case err != nil:
		fmt.Println(err)
		return
	}
	devices, err := src.Devices(context.Background())
	fmt.Println(len(devices), err, src.Close())
	// Output:
	// no GPU here: replay a recording instead
}
