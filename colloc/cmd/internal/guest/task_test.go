package guest

import "testing"

// Jobs whose arguments say that they take more or less memory are of kinds of their own; what else differs does not
// matter.
func TestKindOf(t *testing.T) {
	for _, tt := range []struct {
		command []string
		want    string
	}{
		{[]string{"/bin/burn", "-steps", "40", "-mem", "2GiB", "-seed", "7"}, "burn mem=2GiB"},
		{[]string{"python", "-m", "train", "--lr", "0.1", "--batch-size", "32"}, "python -m train batch-size=32"},
		{[]string{"python", "-m", "train", "--model=vit_large", "--resume", "x", "trainer.precision=bf16", "data.root=/d"}, "python -m train model=vit_large trainer.precision=bf16"},
		{[]string{"python", "-m", "train", "--fp16", "--layers", "12", "--output-dir", "o"}, "python -m train fp16= layers=12"},
		{[]string{"python", "-m", "train", "--seed", "3", "--results", "r"}, "python -m train"},
	} {
		if got := KindOf(tt.command, "/", false); got != tt.want {
			t.Errorf("%q is of kind %q, want %q", tt.command, got, tt.want)
		}
	}
	if KindOf([]string{"python train.py"}, "/", true) != "" {
		t.Error("a script of a shell has a kind")
	}
}
