// Package solve holds the methods that answer a [packer.Problem].
//
//   - [Matching] is exact for sets of at most two on one kind of GPU, with
//     residents, and certifies its gap on several kinds: milliseconds for
//     hundreds of tasks, under a second for 2000.
//   - [ColumnGen] proves its gap for sets of any size where all sets can be
//     valued: hundreds of tasks in threes, a hundred in fours, and ten thousand
//     tasks of a few dozen types.
//   - [LocalSearch] is the fast answer for sets of three and more, and proves
//     nothing.
//   - [Greedy] is the fastest answer for sets of any size and proves nothing.
//   - [Auto] chooses, and says what and why.
//
// All are literals that may be used as they are:
//
//	s, err := solve.Auto{}.Pack(ctx, problem)
//	if err != nil {
//		return err
//	}
//	for _, set := range s.Sets {
//		fmt.Println(problem.GPUs[set.GPU].ID, set.Tasks, set.Speeds)
//	}
//	fmt.Printf("within %.2g of the best plan\n", s.Gap())
//
// What they maximise, and what certificates prove, is in package packer. Methods
// keep no state and modify nothing they are given. They call the Model from the
// caller's goroutine only.
//
// # Cost
//
// For n tasks of T types, G kinds of GPU, M GPUs and sets of up to k:
//
//	Matching     all n²/2 pairs, then about O(n²): auction prices, the ten best
//	             edges of each task, Edmonds' algorithm on these, pricing of all
//	             pairs. Several kinds: 20 to 60 matchings at prices of kinds.
//	ColumnGen    all O(G·T^k) multisets, then 10 to 40 rounds of one pass over
//	             them and a few dozen pivots of O((T+G)²). The plan: whole parts
//	             of the solution, then exact repairs of a few GPUs.
//	LocalSearch  all n²/2 pairs, then 10·n steps of 8192 estimated exchanges and
//	             about 20 sets each; every fourth takes three GPUs apart: O(k²).
//	Greedy       O(n·M) sets.
//
// A [packer.Certificate] costs what the pricing of all sets costs: Verify asks for each.
//
// # References
//
//   - Galil, Efficient algorithms for finding maximum matching in graphs, 1986,
//     doi:10.1145/6462.6502: the primal-dual method with heaps.
//   - Bertsekas, The auction algorithm, 1988, doi:10.1007/BF02186476.
//   - Gilmore, Gomory, A linear programming approach to the cutting-stock problem,
//     1961, doi:10.1287/opre.9.6.849: columns generated at prices, multisets.
//   - Lübbecke, Desrosiers, Selected topics in column generation, 2005,
//     doi:10.1287/opre.1050.0234.
//   - Held, Wolfe, Crowder, Validation of subgradient optimization, 1974,
//     doi:10.1007/BF01580223: prices for GPU kinds.
//   - Shaw, Using constraint programming and local search methods to solve
//     vehicle routing problems, 1998, doi:10.1007/3-540-49481-2_30: large
//     neighbourhood search.
//   - Kirkpatrick, Gelatt, Vecchi, Optimization by simulated annealing, 1983,
//     doi:10.1126/science.220.4598.671.
package solve
