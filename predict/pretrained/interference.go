package pretrained

import (
	"bytes"
	_ "embed" // the coefficient file
	"fmt"
	"sync"

	"example.com/colloc/predict/interference"
)

//go:embed interference.json
var interferenceJSON []byte

// Interference returns a model of speeds side by side, fitted to pairs under
// time-slicing on RTX 3090, K80 and V100. For other GPUs, for MPS and for more
// than two tasks it answers by the prior or beyond the data, with wide
// intervals; docs/model-card-speed.md says what to expect. Each call returns a
// model of its own, which learns apart. The error is for a damaged build.
func Interference() (*interference.Predictor, error) {
	m, err := readInterference()
	if err != nil {
		return nil, err
	}
	return m.Clone(), nil
}

//nolint:gochecknoglobals // read once, and never changed: callers get copies
var readInterference = sync.OnceValues(func() (*interference.Predictor, error) {
	m, err := interference.Load(bytes.NewReader(interferenceJSON))
	if err != nil {
		return nil, fmt.Errorf("pretrained: %w", err)
	}
	return m, nil
})
