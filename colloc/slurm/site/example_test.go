package site_test

import (
	"fmt"

	"example.com/colloc/colloc/slurm/site"
)

func ExampleExpandNodes() {
	names, err := site.ExpandNodes("g[1-3,08],login")
	fmt.Println(names, err)
	// Output:
	// [g1 g2 g3 g08 login] <nil>
}

func ExampleParseGres() {
	held, err := site.ParseGres("shard:a100:5(4/8,1/8)")
	fmt.Println(held[0].Gres, held[0].On(0), held[0].On(1), err)
	// Output:
	// shard:a100:5 4 1 <nil>
}
