// Package torchprint reads what PyTorch's print(model) prints.
package torchprint
