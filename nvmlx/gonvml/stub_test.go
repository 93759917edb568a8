//go:build !linux || !cgo

package gonvml_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/gonvml"
)

func TestStub(t *testing.T) {
	for _, o := range []*gonvml.Options{nil, {Library: "x"}} {
		src, err := gonvml.Open(o)
		if src != nil || !errors.Is(err, nvmlx.ErrUnavailable) || !strings.Contains(err.Error(), "replay a recording") {
			t.Errorf("got %v, %v", src, err)
		}
	}
}
