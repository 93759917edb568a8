//go:build kube

package kubetest_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/internal/kubetest"
)

// soakVariable says how long a soak is: ROUNDS.PODS, with so many pods in each round.
const soakVariable = "COLLOC_KUBE_SOAK"

// Many days in short: in each round pods come, run, end and are deleted, while a card fails and comes back and the replica
// that stands by is killed, in the first half of the rounds the one that decides, too. After each round the books are empty,
// and in the second half the one that decides takes no more memory, descriptors and goroutines than at its beginning. For hours;
// it begins no round that would not end before the timeout:
//
//	COLLOC_KUBE_SOAK=2000.300 go test -C colloc/kube -tags kube -run TestSoak -v -timeout 2h ./internal/kubetest
func TestSoak(t *testing.T) {
	t.Parallel()
	rounds, pods := 4, 24
	deadline, timed := time.Time{}, false
	if text := os.Getenv(soakVariable); text != "" {
		if _, err := fmt.Sscanf(text, "%d.%d", &rounds, &pods); err != nil || rounds < 2 || pods < 8 {
			t.Fatalf("%s=%s: want ROUNDS.PODS, two and eight at least", soakVariable, text)
		}
		deadline, timed = t.Deadline()
	}
	x, _ := disturbed(t, 2+pods/8, 0, 1)
	lives := x.leader()
	var first, last levels
	var longest time.Duration
	start, second := time.Now(), 0 // the second half's first round
	for round := 0; round < rounds && (!timed || time.Until(deadline) > 2*longest); round++ {
		begun := time.Now()
		x.create(pods / 2)
		if second == 0 && round < rounds/2 && (!timed || time.Since(start) < time.Until(deadline)) {
			x.await(pods / 4) // while it decides
			x.replica[lives].Kill()
			x.replica[lives] = x.start(lives)
			lives = x.leader()
		} else if second == 0 {
			second = round
		}
		x.replica[1-lives].Kill()
		x.await(pods / 4)
		x.cards("gpu-1", 7) // who runs there, ends
		x.create(pods - pods/2)
		x.replica[1-lives] = x.start(1 - lives)
		x.settle()
		x.end(pods)
		x.cards("gpu-1", 8)
		if err := x.c.Client.CoreV1().Pods("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		x.gone = x.made
		sameBooks(t, x.c, x.replica[lives], settle(t, x.c, kubetest.Rules{}, 0))
		if len(x.moved) > 0 {
			t.Errorf("round %d: decided twice: %q", round, x.moved)
		}
		last = x.levels(x.replica[lives])
		if round == second {
			first = last
		}
		if round%max(1, rounds/20) == 0 {
			t.Logf("after %d pods %+v", x.made, last)
		}
		longest = max(longest, time.Since(begun))
	}
	t.Logf("after %d pods %+v, after %d %+v", (second+1)*pods, first, x.made, last)
	// Connections come and go; a heap of a few MiB is as large as the collector lets it become.
	if last.goroutines > first.goroutines+20 || last.files > first.files+20 || last.heap > 1.5*first.heap+16<<20 {
		t.Errorf("after %d pods collocd takes %+v, at the beginning %+v", x.made, last, first)
	}
}

// levels are what must not grow.
type levels struct {
	goroutines, files, heap float64 // heap in bytes, at which the collector will begin
}

func (x *chaos) levels(d *kubetest.Collocd) levels {
	x.t.Helper()
	m, ok := d.Metrics()
	if !ok || m["process_open_fds"] == 0 {
		x.t.Fatal("collocd tells no metrics")
	}
	return levels{m["go_goroutines"], m["process_open_fds"], m["go_memstats_next_gc_bytes"]}
}
