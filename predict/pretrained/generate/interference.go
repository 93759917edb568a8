package main

import (
	"io"

	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
)

// fitInterference fits the pairs of Lucid, Gavel and tally-bench.
func fitInterference(data string, w io.Writer) error {
	var obs []interference.Observation
	for _, name := range []string{"interference_lucid.csv", "interference_gavel.csv", "interference_mps.csv"} {
		rows, err := read(data, name, dataset.ReadSpeed)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.Excluded == "" && !r.Suspect {
				obs = append(obs, r.Observation)
			}
		}
	}
	m, err := interference.Fit(obs, &interference.Options{
		Provenance: "time-slicing; RTX 3090: Lucid (ASPLOS 2023) at 63685a3, S-Lab License 1.0 (non-commercial); K80, V100: Gavel " +
			"(OSDI 2020) at c4fa400, MIT, without the recommendation task; MPS: an unnamed GPU, tally-bench at ae8cdb1, facts only; part of the rows held back; sums and coefficients only",
	})
	if err != nil {
		return err
	}
	return m.Save(w)
}
