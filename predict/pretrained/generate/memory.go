package main

import (
	"io"

	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/memory"
)

// fitMemory fits the memory model to the generated networks, to timm and to trainings
// of real networks.
func fitMemory(data string, w io.Writer) error {
	var obs []memory.Observation
	for _, name := range []string{
		"memory_mlp.csv", "memory_cnn.csv", "memory_timm.csv", "memory_transformer.csv", "memory_carma_real.csv", "mig_migperf.csv",
	} {
		rows, err := read(data, name, dataset.ReadMemory)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.Excluded == "" && r.Unclear == "" {
				obs = append(obs, r.Observation)
			}
		}
	}
	together, err := fitTogether(data)
	if err != nil {
		return err
	}
	m, err := memory.Fit(obs, &memory.Options{Together: together, Provenance: predict.Provenance{
		Data: "GPUMemNet (part of CARMA, arXiv 2508.19073), repository at f01eb05: generated dense networks, generated " +
			"convolutional networks, FakeTensor sheet of timm models, generated encoders (at c202180); real networks of CARMA at e044017 " +
			"and of MIGProfiler at e377b46 (A100 of 40 and 80 GB, MIG slices); part of the rows held back",
		License: "GPUMemNet's data have no licence file, CARMA's two that contradict each other, MIGProfiler is MIT; only fitted coefficients are stored here",
		GPU:     "A100-40GB",
		Rows:    len(obs),
	}})
	if err != nil {
		return err
	}
	return m.Save(w)
}

// fitTogether fits what pairs of Lucid need beyond the sum of their solo peaks.
func fitTogether(data string) (*memory.Together, error) {
	rows, err := read(data, "interference_lucid.csv", dataset.ReadTogether)
	if err != nil {
		return nil, err
	}
	obs := make([]memory.TogetherObservation, len(rows))
	for i := range rows {
		obs[i] = rows[i].Observation
	}
	return memory.FitTogether(obs, &memory.TogetherOptions{Provenance: predict.Provenance{
		Data:    "Lucid (ASPLOS 2023) at 63685a3: pairs under time-slicing; part of the rows held back",
		License: "S-Lab License 1.0 (non-commercial); only sorted differences are stored here",
		GPU:     "RTX3090",
		Rows:    len(obs),
	}})
}
