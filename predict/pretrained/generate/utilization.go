package main

import (
	"io"

	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
)

// fitUtilization fits the utilisation model to the synthetic networks.
func fitUtilization(data string, w io.Writer) error {
	var obs []predict.UtilizationObservation
	for _, name := range []string{"memory_mlp.csv", "memory_cnn.csv"} {
		more, err := read(data, name, dataset.ReadUtilization)
		if err != nil {
			return err
		}
		obs = append(obs, more...)
	}
	u, err := predict.FitUtilization(obs, &predict.UtilizationOptions{Provenance: predict.Provenance{
		Data: "GPUMemNet (part of CARMA, arXiv 2508.19073), repository at f01eb05: generated dense and generated " +
			"convolutional networks; part of the rows held back",
		License: "the data have no licence file; only fitted coefficients are stored here",
		GPU:     "A100-40GB",
		Rows:    len(obs),
	}})
	if err != nil {
		return err
	}
	return u.Save(w)
}
