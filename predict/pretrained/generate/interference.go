package main

import (
	"io"

	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
)

// fitInterference fits the interference model to pairs on four GPU products.
func fitInterference(data string, w io.Writer) error {
	var obs []predict.SpeedObservation
	for _, name := range []string{"interference_lucid.csv", "interference_gavel.csv"} {
		rows, err := read(data, name, dataset.ReadSpeed)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.Excluded == "" {
				obs = append(obs, r.Observation)
			}
		}
	}
	m, err := predict.FitInterference(obs, nil)
	if err != nil {
		return err
	}
	return m.Save(w)
}
