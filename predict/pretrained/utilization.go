package pretrained

import (
	"bytes"
	_ "embed" // the coefficient file
	"fmt"
	"sync"

	"example.com/colloc/predict/utilization"
)

//go:embed utilization.json
var utilizationJSON []byte

// Utilization returns a model of how busy a task alone keeps its GPU, fitted to
// dense and convolutional networks trained in PyTorch in fp32 on an A100 40 GB. It
// does not learn, and every call returns the same. The error is for a damaged build.
func Utilization() (*utilization.Predictor, error) { return readUtilization() }

//nolint:gochecknoglobals // read once, and never changed
var readUtilization = sync.OnceValues(func() (*utilization.Predictor, error) {
	u, err := utilization.Load(bytes.NewReader(utilizationJSON))
	if err != nil {
		return nil, fmt.Errorf("pretrained: %w", err)
	}
	return u, nil
})
