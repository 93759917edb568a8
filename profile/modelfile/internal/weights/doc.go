// Package weights reads the names and shapes of weights: safetensors and GGUF.
package weights
