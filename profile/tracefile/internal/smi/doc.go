// Package smi reads what NVIDIA's tools on a machine print: nvidia-smi's CSV, -q text
// and XML, and the tables of nvidia-smi dmon, nvidia-smi pmon and dcgmi dmon.
package smi
