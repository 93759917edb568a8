package profiles_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/colloc/colloc/kube/profiles"
)

func ExampleDecode() {
	known := profiles.Decode(&unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"training": map[string]any{"batch_size": 8},
			"measured": []any{map[string]any{"gpu": "Tesla-T4", "sample": map[string]any{"gpu_busy": 0.7, "mem_used": "6GiB"}}},
		},
	}})
	fmt.Println(known.Profile.GPU.Name, known.Profile.Spec.Training.BatchSize)
	// Output: T4 8
}
