package controller

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/books"
)

func newKeeper(t *testing.T, change func(*Config)) *Controller {
	t.Helper()
	p, err := colloc.New(colloc.Config{LeaveOutFaulty: true})
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Unix(1_800_000_000, 0) }
	b, err := books.New(books.Config{Planner: p, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Client: fake.NewClientset(), Books: b, Now: now, Pause: func(context.Context, int) {}}
	change(&config)
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func size(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}

// What is noted of a pod whose end is told while something is done for it goes with it.
func TestKeepsNothingOfTheGone(t *testing.T) {
	c := newKeeper(t, func(*Config) {})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "task", UID: "u"}}
	c.config.Books.SetPod(pod)
	for what, do := range map[string]func(){
		"told":    func() { c.news(pod, "Full") },
		"claimed": func() { c.claimed.Store(pod.UID, "claim") },
		"failed":  func() { c.later(pod, "NoClaim", "it cannot start", errors.New("away")) },
	} {
		c.start(pod.UID, func() {
			c.dropPod(pod)
			do()
		})
		c.writes.Wait()
		if n := size(&c.said) + size(&c.claimed) + size(&c.retries) + size(&c.under); n != 0 {
			t.Errorf("%s: %d notes stay", what, n)
		}
	}
}

// While writes get done, however slow each is, the loop is not idle.
func TestSlowWritesAreNotIdle(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := newKeeper(t, func(config *Config) { config.Writers, config.Now = 1, func() time.Time { return now } })
	c.stepped.Store(now.UnixNano()) // it leads
	for i := range 10 {
		ended := make(chan bool)
		c.start(types.UID(rune('a'+i)), func() { close(ended) })
		<-ended
		c.writes.Wait()
		now = now.Add(time.Minute)
	}
	if idle := c.Idle(); idle > time.Minute {
		t.Errorf("idle for %v, and a write was begun a minute ago", idle)
	}
}
