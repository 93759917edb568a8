package modelfile

import (
	"testing"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/draft"
)

// TestWholeWords: the classes of PyTorch and Keras are known by their whole names, in
// capitals or not, and others that only contain them are not taken for them.
func TestWholeWords(t *testing.T) {
	for class, want := range map[string]profile.LayerKind{
		"Linear": profile.Linear, "Dense": profile.Linear, "Bilinear": profile.Linear, "Embedding": profile.Embedding,
		"Conv1d": profile.Conv, "Conv2d": profile.Conv, "CONV3D": profile.Conv, "Conv2DTranspose": profile.Conv,
	} {
		if kind, known := draft.KindOfClass(class); kind != want || !known {
			t.Errorf("%s is %v, %t, want %v", class, kind, known, want)
		}
		if kind, known := draft.KindOfClass("Q" + class + "q"); kind != profile.OtherLayer || known {
			t.Errorf("Q%sq is %v, %t, want none that is known", class, kind, known)
		}
	}
	if kind, known := draft.KindOfTorchClass("Conv1D"); kind != profile.Linear || !known {
		t.Errorf("Conv1D of transformers is %v, %t", kind, known)
	}
}
