// Package advice says which pods of a cluster could share a GPU, as they run today with NVIDIA's device
// plugin and without anything of colloc's: which sets, how many GPU hours a week, at what risk. It reads
// nodes and pods from the API server and counters from a Prometheus that scrapes dcgm-exporter, and
// writes nothing anywhere.
package advice
