package colloc_test

import (
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// A resident whose reservation cannot be told is an error of Fit and Score that
// names the GPU and the resident, not a verdict without numbers.
func TestFitResidentFault(t *testing.T) {
	p, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	newcomer := colloc.Task{ID: "t", Reserved: profile.GiB, Profile: &profile.Profile{}}
	broken := colloc.Task{ID: "broken", Profile: &profile.Profile{}}
	broken.Profile.Spec.Training.BatchSize = -1
	g := colloc.GPU{ID: "gpu-0", Memory: 40 * profile.GiB, Residents: []colloc.Task{broken}}
	v, err := p.Fit(newcomer, g)
	if err == nil || v.Fits || !strings.Contains(err.Error(), `GPU "gpu-0": resident 0 "broken"`) {
		t.Errorf("got %+v, %v; want an error that names gpu-0 and broken", v, err)
	}
	if score, err := p.Score(newcomer, g); err == nil {
		t.Errorf("score is %v without an error", score)
	}
}
