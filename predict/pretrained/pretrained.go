package pretrained

import (
	"bytes"
	_ "embed" // the coefficient files
	"fmt"
	"sync"

	"example.com/colloc/predict/memory"
)

//go:generate go run ./generate

//go:embed memory.json
var memoryJSON []byte

// Memory returns a model of peak device memory, fitted to dense and
// convolutional networks trained in PyTorch with Adam in fp32, and to shape-only
// runs of timm models, on an A100 40 GB. The error is for a damaged build.
func Memory() (*memory.Predictor, error) {
	m, err := readMemory()
	if err != nil {
		return nil, err
	}
	return m.Clone(), nil
}

//nolint:gochecknoglobals // read once, and never changed: callers get copies
var readMemory = sync.OnceValues(func() (*memory.Predictor, error) {
	m, err := memory.Load(bytes.NewReader(memoryJSON))
	if err != nil {
		return nil, fmt.Errorf("pretrained: %w", err)
	}
	return m, nil
})
