package main

import (
	"io"

	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/utilization"
)

// fitUtilization fits the utilisation model to the synthetic networks.
func fitUtilization(data string, w io.Writer) error {
	var obs []utilization.Observation
	for _, name := range []string{"memory_mlp.csv", "memory_cnn.csv"} {
		more, err := read(data, name, dataset.ReadUtilization)
		if err != nil {
			return err
		}
		obs = append(obs, more...)
	}
	u, err := utilization.Fit(obs, &utilization.Options{Provenance: predict.Provenance{
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
