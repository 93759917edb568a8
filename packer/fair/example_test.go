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

// Tasks that are due count by when; which of them are lost is said beside it.
func ExampleEarliestDeadline() {
	accounts := []fair.Account{
		{Remaining: profile.Some(time.Hour)}, // not due
		{Remaining: profile.Some(time.Hour), Deadline: profile.Some(24 * time.Hour)},
		{Remaining: profile.Some(time.Hour), Deadline: profile.Some(2 * time.Hour)},
		{Remaining: profile.Some(3 * time.Hour), Deadline: profile.Some(2 * time.Hour)},
	}
	weights := fair.Weights(fair.EarliestDeadline{Alpha: 1, Horizon: 48 * time.Hour}, accounts)
	for i := range accounts {
		fmt.Printf("%.3f late: %v\n", weights[i], accounts[i].Late())
	}
	// Output:
	// 0.042 late: false
	// 0.083 late: false
	// 1.000 late: false
	// 0.042 late: true
}
