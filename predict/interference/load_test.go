package interference

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"example.com/colloc/internal/golden"
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
	// A fit of which the file has the weight alone.
	f.Add([]byte(`{"format":"colloc interference","version":4,"vector_version":3,"options":{"confidence":0.9,"no_trees":true},"regimes":[{"gpu":"RTX3090","mechanism":"time-slicing","fitted":{"weight":19}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := Load(bytes.NewReader(data)); err == nil {
			for _, e := range mustSpeeds(t, m, nil, nil, nil) {
				checkLoaded(t, e)
			}
		}
	})
}

// TestFiles: of each value of a file it is known which others it may have; what is taken predicts.
func TestFiles(t *testing.T) {
	_, obs := fakeWorld(t, 7, 2, 2)
	m := mustFit(t, obs[1:], &Options{NoTrees: true})
	if err := m.Observe(obs[0]); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := m.Archive(&archive); err != nil {
		t.Fatal(err)
	}
	golden.Leaves(t, "files.txt", [][]byte{archive.Bytes()}, []string{"-4", "-3", "-1", "0", "0.5", "1", "2", "1000000000"}, func(path string) bool {
		return strings.Contains(path, "spec") // of tasks that are kept
	}, func(doc []byte) bool {
		m, err := Load(bytes.NewReader(doc))
		if err != nil {
			return false
		}
		for _, e := range mustSpeeds(t, m, rtx3090(t), obs[0].Set...) {
			checkLoaded(t, e)
		}
		return true
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
