package api_test

import (
	"fmt"

	"example.com/colloc/colloc/kube/api"
)

func Example() {
	fmt.Println(api.LabelTask)
	fmt.Println(api.Gate)
	// Output:
	// colloc.example.com/task
	// colloc.example.com/place
}
