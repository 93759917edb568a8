package matching_test

import (
	"fmt"

	"example.com/colloc/packer/matching"
)

// Four people share two boats; the weight says how much they like to row together.
func ExampleMaximum() {
	weights := []int32{
		0, 6, 9, 4,
		6, 0, 7, 5,
		9, 7, 0, 2,
		4, 5, 2, 0,
	}
	m, err := matching.Maximum(4, weights)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, j := range m.Mate {
		if int(j) > i {
			fmt.Println(i, "with", j)
		}
	}
	fmt.Println("no matching is worth more than", m.Bound()/2, "-", m.Verify(weights, nil))
	// Output:
	// 0 with 2
	// 1 with 3
	// no matching is worth more than 14 - <nil>
}

// A solver answers the same question at other prices of being single: here for all
// vertices alike.
func ExampleSolver() {
	s, err := matching.NewSolver(3, []int32{
		0, 8, 4,
		8, 0, 6,
		4, 6, 0,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, price := range []int64{0, 5} {
		m, err := s.Solve([]int64{price, price, price}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(price, m.Mate, m.Bound())
	}
	// Output:
	// 0 [1 0 -1] 8
	// 5 [-1 -1 -1] 15
}
