package groups_test

import (
	"fmt"

	"example.com/colloc/colloc/kube/groups"
)

func Example() {
	var s groups.Store
	s.Set(group("train", map[string]any{"gang": map[string]any{"minCount": int64(2)}}))
	fmt.Println(s.Pods("team", "train"))
	// Output: 2 true
}
