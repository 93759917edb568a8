// Package smi asks nvidia-smi where the driver's library cannot be asked.
package smi
