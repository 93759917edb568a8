package interference

import (
	"bytes"
	"io"
	"testing"

	"example.com/colloc/predict"
)

// FuzzLoad reads anything as a model and asks what was accepted: no
// file may crash a scheduler or make a prediction that is none.
func FuzzLoad(f *testing.F) {
	_, obs := fakeWorld(f, 7, 2, 2)
	f.Add(saved(f, mustFit(f, obs, &Options{NoTrees: true})))
	var archive bytes.Buffer
	if err := mustFit(f, obs, &Options{NoTrees: true}).Archive(&archive); err != nil {
		f.Fatal(err)
	}
	f.Add(archive.Bytes())
	f.Add([]byte(`{"format":"colloc interference","version":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := Load(bytes.NewReader(data)); err == nil {
			for _, e := range mustSpeeds(t, m, nil, nil, nil) {
				checkLoaded(t, e)
			}
		}
	})
}

func checkLoaded(t *testing.T, e predict.Estimate) {
	t.Helper()
	if !(e.Value >= 0 && e.Value <= 1 && e.Lo <= e.Value && e.Value <= e.Hi) {
		t.Errorf("a loaded model predicts %+v", e)
	}
}

// saved is a small model as it saves itself.
func saved(tb testing.TB, m interface{ Save(w io.Writer) error }) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := m.Save(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}
