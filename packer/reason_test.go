package packer_test

import (
	"strings"
	"testing"

	"example.com/colloc/packer"
)

// TestReasonCounts: one GPU, two GPUs.
func TestReasonCounts(t *testing.T) {
	for n, want := range map[int]string{0: " 1 more GPU with ", 1: " 1 more GPU with ", 2: " 2 more GPUs with "} {
		if text := (packer.Reason{ID: "a", Code: packer.GPUsTaken, GPUs: n}).String(); !strings.Contains(text, want) {
			t.Errorf("%d: %s", n, text)
		}
	}
}

// TestReasonCodes: codes have names, 0 is none, and numbers beyond say what they are.
func TestReasonCodes(t *testing.T) {
	for code, want := range map[packer.ReasonCode]string{0: "none", packer.NoGPU: "no-gpu", packer.TooFewGPUs: "too-few-gpus", -1: "reason(-1)"} {
		if got := code.String(); got != want {
			t.Errorf("%d is %q, want %q", int(code), got, want)
		}
	}
}
