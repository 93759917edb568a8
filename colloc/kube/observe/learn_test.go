package observe_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/observe"
	"example.com/colloc/profile"
)

// TestRefit: after a hundred observations speeds are fitted anew in the background, and
// what is to be kept is counted. The Planner then knows to the byte what one knows that
// was told the same and refitted.
func TestRefit(t *testing.T) {
	var all []*corev1.Pod
	for n := range 8 {
		all = append(all, on(n/2, running(n, api.AnnotationProfile, fmt.Sprint("kind-", n), api.AnnotationRate, strconv.Itoa(n))))
	}
	w := newWorld(t, observe.Report, all...)
	for n := range 8 {
		w.answers[strconv.Itoa(n)] = fmt.Sprintf(`{"metric":{},"value":[1,"%d"]}`, 3+n%5)
	}
	twin, err := colloc.New(colloc.Config{LeaveOutFaulty: true})
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 25 // of four cards each
	step := 0.1       // seconds
	w.every(t, observe.DefaultWindow, 1)
	for round := range rounds {
		for card := range 4 {
			gpu := w.books.Sets()[card].Model
			o := colloc.Observation{GPU: gpu}
			for n := 2 * card; n < 2*card+2; n++ {
				o.Members = append(o.Members, colloc.Measurement{Profile: known(t, fmt.Sprint("kind-", n)).Profile, Speed: profile.Some(float64(3+n%5) * step)})
			}
			if err := twin.Observe(o); err != nil {
				t.Fatal(err)
			}
		}
		if round < rounds-1 {
			w.every(t, observe.DefaultWindow, 1)
		}
	}
	if n := w.observer.Learned(); n != 4*(rounds-1) {
		t.Fatalf("learned %d times, want %d", n, 4*(rounds-1))
	}
	w.every(t, time.Second, 1)
	before := saved(t, twin)
	if err := twin.Refit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := saved(t, w.books.Planner()); bytes.Equal(before, saved(t, twin)) || !bytes.Equal(got, before) && !bytes.Equal(got, saved(t, twin)) {
		t.Fatal("a refit changes nothing, or the two planners were told other things")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for w.observer.Learned() != 4*rounds+1 { // until the refit is over
		if err := w.observer.Step(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(saved(t, w.books.Planner()), saved(t, twin)) {
		t.Error("the Planner was not fitted anew")
	}
}

// saved is all that a Planner knows.
func saved(t *testing.T, p *colloc.Planner) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
