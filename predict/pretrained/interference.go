package pretrained

import (
	"bytes"
	_ "embed" // the coefficient file
	"fmt"

	"example.com/colloc/predict"
)

//go:embed interference.json
var interferenceJSON []byte

// Interference returns a model of mutual slowdown under time-slicing, fitted to
// pairs of training tasks on an RTX 3090 (Lucid), and on K80, P100 and V100
// (Gavel). The error is for a damaged build.
func Interference() (*predict.Interference, error) {
	m, err := predict.LoadInterference(bytes.NewReader(interferenceJSON))
	if err != nil {
		return nil, fmt.Errorf("pretrained: %w", err)
	}
	return m, nil
}
