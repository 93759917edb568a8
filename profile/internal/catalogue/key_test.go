package catalogue

import "testing"

// TestAppendKey: a name's letters and digits, without the vendor and how it is shared.
func TestAppendKey(t *testing.T) {
	for name, want := range map[string]string{
		"aAzZ09 @[`{/:":               "aazz09",
		"":                            "",
		"NVIDIA":                      "",
		"NVIDIA Tesla V100-SXM2-16GB": "v100sxm216gb",
		"GeForce NVIDIA":              "nvidia", // in this order they are no vendor's words
		"MIG 1g.5gb":                  "",
		"A MIG 1g.5gb":                "a",
		"shared":                      "",
		"A100-SHARED":                 "a100",
		"A100 shared Generation":      "a100shared",
		"A100 Generation shared":      "a100",
		"gpu:a100:4":                  "a100",
		"nvidia.com/gpu:A30":          "a30",
		"gp:a100":                     "gpa100",
	} {
		if got := string(AppendKey([]byte(nil), name)); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
