package main

import (
	"io"

	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
)

// fitMemory fits the memory model to the synthetic networks and to timm.
func fitMemory(data string, w io.Writer) error {
	var obs []predict.MemoryObservation
	for _, name := range []string{"memory_mlp.csv", "memory_cnn.csv", "memory_timm.csv"} {
		rows, err := read(data, name, dataset.ReadMemory)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.Excluded == "" {
				obs = append(obs, r.Observation)
			}
		}
	}
	m, err := predict.FitMemory(obs, &predict.MemoryOptions{Provenance: predict.MemoryProvenance{
		Data: "GPUMemNet (part of CARMA, arXiv 2508.19073), repository at f01eb05: generated dense networks, generated " +
			"convolutional networks, FakeTensor sheet of timm models; part of the rows held back",
		License: "the data have no licence file; only fitted coefficients are stored here",
		GPU:     "A100-40GB",
		Rows:    len(obs),
	}})
	if err != nil {
		return err
	}
	return m.Save(w)
}
