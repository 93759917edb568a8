package footprint

import (
	"bytes"
	"fmt"
	"testing"

	"example.com/colloc/internal/golden"
	"example.com/colloc/profile"
)

// TestGolden: what layers of each kind hold under each way of training stays as it was
// unless somebody means it.
func TestGolden(t *testing.T) {
	model := profile.Model{Layers: []profile.Layer{
		{Name: "embed", Kind: profile.Embedding, Params: 5000, Activations: 64},
		{Name: "conv", Kind: profile.Conv, Params: 900, Activations: 500, MACs: profile.Some[int64](9000)},
		{Name: "norm", Kind: profile.Norm, Params: 20, Activations: 500},
		{Name: "SiLU", Kind: profile.Activation, Activations: 500, InPlace: true},
		{Name: "pool", Kind: profile.Pool, Activations: 125},
		{Name: "view", Kind: profile.OtherLayer, Activations: 125, InPlace: true},
		{Name: "conv2", Kind: profile.Conv, Params: 700, Frozen: 700, Activations: 60},
		{Name: "GELU", Kind: profile.Activation, Activations: 60},
		{Name: "drop", Kind: profile.Dropout, Activations: 60},
		{Name: "attention", Kind: profile.Attention, Activations: 320},
		{Name: "out", Kind: profile.Linear, Params: 410, Activations: 64},
		{Name: "fused", Kind: profile.Attention, Activations: 330, InPlace: true},
		{Name: "drop2", Kind: profile.Dropout, Activations: 33},
		{Name: "up", Kind: profile.Linear, Params: 800, Activations: 70},
		{Name: "lstm", Kind: profile.Recurrent, Params: 1200, Activations: 90},
		{Name: "ReLU", Kind: profile.Activation, Activations: 90},
		{Name: "head", Kind: profile.Linear, Params: 6000, Activations: 130},
	}}
	var out bytes.Buffer
	for precision := range profile.Precision(profile.Precisions) {
		for optimizer := range profile.Optimizer(profile.Optimizers) {
			for way := range profile.Parallelism(profile.Parallelisms) {
				for gpus := 1; gpus <= 3; gpus += 2 {
					if gpus > 1 && (precision != profile.Mixed || optimizer != profile.Adam) || gpus == 1 && way != 0 {
						continue // the ways are independent
					}
					for _, checkpointing := range []bool{false, true} {
						var f Footprint
						f.Measure(&profile.Spec{Model: model, Training: profile.Training{
							BatchSize: 6, Precision: precision, Optimizer: optimizer, Parallelism: way, GPUs: gpus, Checkpointing: checkpointing,
						}})
						fmt.Fprintf(&out, "%v %v %v %d %t: %.6g\n", precision, optimizer, way, gpus, checkpointing, f)
					}
				}
			}
		}
	}
	golden.Check(t, "golden.txt", out.String())
}
