package fair_test

import (
	"fmt"
	"time"

	"example.com/colloc/packer/fair"
	"example.com/colloc/profile"
)

func ExampleWeights() {
	accounts := []fair.Account{
		{Age: 4 * time.Hour, Attained: 3 * time.Hour, Remaining: profile.Some(time.Hour)},
		{Age: 4 * time.Hour, Attained: time.Hour, Remaining: profile.Some(3 * time.Hour)},
		{Age: time.Hour, Remaining: profile.Some(2 * time.Hour)},
	}
	for _, p := range []fair.Policy{
		fair.FIFOFair{}, fair.AlphaFair{Alpha: 1}, fair.ShortestFirst{}, fair.Makespan{},
	} {
		fmt.Printf("%-22T %.3f\n", p, fair.Weights(p, accounts))
	}
	// Output:
	// fair.FIFOFair          [1.000 1.000 0.400]
	// fair.AlphaFair         [0.000 0.001 1.000]
	// fair.ShortestFirst     [1.000 0.333 0.500]
	// fair.Makespan          [0.333 1.000 0.667]
}
