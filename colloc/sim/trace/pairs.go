package trace

import (
	"fmt"
	"io"

	"example.com/colloc/colloc/sim/speed"
)

// ReadPairs reads measured pairs for [speed.NewPairs] from either of these tables,
// told apart by their columns:
//
//	gavel  gpu,job_a,job_b,solo_a_steps_per_s,solo_b_steps_per_s,norm_speed_a,norm_speed_b,feasible
//	lucid  gpu,job_a,job_b,norm_speed_a,norm_speed_b
//
// Gavel's are from simulation_throughputs.json (Narayanan et al., OSDI 2020),
// Lucid's from colocate_info.csv (Hu et al., ASPLOS 2023), joined with the speeds
// alone. A pair with feasible 0 has speeds 0. Errors are as for [Read].
func ReadPairs(r io.Reader) ([]speed.PairSpeed, error) {
	var pairs []speed.PairSpeed
	err := readRows(r, layout{name: "pairs", need: []string{"gpu", "job_a", "job_b", "norm_speed_a", "norm_speed_b"}}, func(r *row) {
		p := speed.PairSpeed{
			GPU: r.name("gpu"), A: r.name("job_a"), B: r.name("job_b"),
			SpeedA: r.number("norm_speed_a", 100), SpeedB: r.number("norm_speed_b", 100),
			SoloA: r.number("solo_a_steps_per_s", 1e5), SoloB: r.number("solo_b_steps_per_s", 1e5),
		}
		switch r.text("feasible") {
		case "0":
			p.SpeedA, p.SpeedB = 0, 0
		case "", "1":
		default:
			r.fail("feasible", "is %q, want 0 or 1", r.text("feasible"))
		}
		pairs = append(pairs, p)
	})
	if err != nil {
		return nil, err
	}
	return pairs, nil
}

// Pairs reads measured pairs and builds the table; see ReadPairs and
// [speed.NewPairs].
func Pairs(r io.Reader, reference string) (*speed.Pairs, error) {
	measured, err := ReadPairs(r)
	if err != nil {
		return nil, err
	}
	p, err := speed.NewPairs(measured, reference)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return p, nil
}
