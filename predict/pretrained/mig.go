package pretrained

import (
	"bytes"
	_ "embed" // the coefficient file
	"fmt"

	"example.com/colloc/predict/pace"
)

//go:embed mig.json
var migJSON []byte

// MIGSpeed returns a model of the speed on MIG slices, fitted to single tasks on
// the slices of an A100 40 GB. The error is for a damaged build.
func MIGSpeed() (*pace.MIGSpeed, error) {
	m, err := pace.LoadMIGSpeed(bytes.NewReader(migJSON))
	if err != nil {
		return nil, fmt.Errorf("pretrained: %w", err)
	}
	return m, nil
}
