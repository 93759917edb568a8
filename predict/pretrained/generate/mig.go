package main

import (
	"io"

	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/pace"
)

// fitMIG fits MISO's and MIGProfiler's single tasks on slices.
func fitMIG(data string, w io.Writer) error {
	var obs []pace.MIGObservation
	for _, name := range []string{"mig_miso.csv", "mig_migperf.csv"} {
		rows, err := read(data, name, dataset.ReadMIG)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.Excluded == "" {
				obs = append(obs, r.Observation)
			}
		}
	}
	m, err := pace.FitMIGSpeed(obs, &pace.MIGOptions{
		Provenance: "MISO (SoCC 2022) at 39b1ee6, MIT: A100 40 GB, without deepspeech2; MIGProfiler at e377b46, MIT: A100 of 40 and 80 GB; part of the rows held back; coefficients only",
	})
	if err != nil {
		return err
	}
	return m.Save(w)
}

// fitPace fits published throughputs of single GPUs. Gavel's table is among them.
func fitPace(data string, w io.Writer) error {
	rows, err := read(data, "pace.csv", dataset.ReadPace)
	if err != nil {
		return err
	}
	var obs []pace.Observation
	for _, r := range rows {
		if r.Excluded == "" {
			obs = append(obs, r.Observation)
		}
	}
	m, err := pace.Fit(obs, &pace.Options{
		Provenance: "published training throughputs of one GPU on 41 cards: lambdal/deeplearning-benchmark, NVIDIA/DeepLearningExamples, " +
			"siasosp23/artifacts, ryujaehun/pytorch-gpu-benchmark, stanford-futuredata/gavel, u39kun/deep-learning-benchmark; " +
			"facts only; part of the models held back; coefficients only",
	})
	if err != nil {
		return err
	}
	return m.Save(w)
}
