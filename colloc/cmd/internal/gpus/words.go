package gpus

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/colloc/profile"
)

// Most is the most GPUs that words may stand for.
const Most = 1 << 16

// Words reads GPUs of the catalogue from words such as "4xA100-40GB,2xT4", or "A100-40GB MIG 1g.5gb" for a slice.
func Words(words string) ([]profile.GPUModel, error) {
	var models []profile.GPUModel
	for group := range strings.SplitSeq(words, ",") {
		group = strings.TrimSpace(group)
		n, name := 1, group
		if count, product, ok := strings.Cut(group, "x"); ok {
			if k, err := strconv.Atoi(strings.TrimSpace(count)); err == nil {
				n, name = k, strings.TrimSpace(product)
			}
		}
		model, known := profile.LookupGPU(name)
		switch {
		case !known:
			return nil, fmt.Errorf("%q is neither a file nor a GPU of the catalogue, such as 4xA100-40GB", group)
		case n < 1 || n > Most-len(models):
			return nil, fmt.Errorf("want 1 to %d GPUs", Most)
		}
		if (&profile.GPUModel{Name: name}).Sliced() {
			model.Name = name
		}
		for range n {
			models = append(models, model)
		}
	}
	return models, nil
}
