package pretrained

import (
	"bytes"
	_ "embed" // the coefficient file
	"fmt"
	"sync"

	"example.com/colloc/predict/pace"
)

//go:embed pace.json
var paceJSON []byte

// Pace returns a model of how fast kinds of GPU are for a task, fitted to
// published training throughputs on 41 cards from K80 to B200. Each call returns
// a model of its own, which learns apart. The error is for a damaged build.
func Pace() (*pace.Predictor, error) {
	m, err := readPace()
	if err != nil {
		return nil, err
	}
	return m.Clone(), nil
}

//nolint:gochecknoglobals // read once, and never changed: callers get copies
var readPace = sync.OnceValues(func() (*pace.Predictor, error) {
	m, err := pace.Load(bytes.NewReader(paceJSON))
	if err != nil {
		return nil, fmt.Errorf("pretrained: %w", err)
	}
	return m, nil
})
