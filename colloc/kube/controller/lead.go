package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/pods"
)

// Lead reads the pods anew, opens the books and decides until ctx is over. It is called
// by the one replica that decides, once its caches are filled: what an earlier leader
// wrote last may not have reached them.
func (c *Controller) Lead(ctx context.Context) error {
	c.stepped.Store(c.config.Now().UnixNano())
	defer c.stepped.Store(0)
	if err := c.Reread(ctx); err != nil {
		return err
	}
	if c.config.Begin != nil {
		if err := c.config.Begin(ctx); err != nil {
			return err
		}
	}
	c.config.Books.Open()
	if m := c.config.Metrics; m != nil {
		m.Leads(true)
		defer m.Leads(false)
	}
	var observing sync.WaitGroup
	defer observing.Wait()
	if c.config.Observe != nil {
		observing.Go(func() { c.observe(ctx) })
	}
	c.config.Log.Info("deciding", "cards", len(c.config.Books.Cards()), "pending", c.config.Books.Pending())
	tick := time.NewTicker(tickTime)
	defer tick.Stop()
	defer c.writes.Wait()
	for {
		if err := c.step(ctx); err != nil && ctx.Err() == nil {
			c.config.Log.Error("decide", "err", err)
		}
		c.stepped.Store(c.config.Now().UnixNano())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case <-c.wake:
			c.gather(ctx)
		}
	}
}

// observe looks at what became of decisions until ctx is over.
func (c *Controller) observe(ctx context.Context) {
	tick := time.NewTicker(c.config.ObserveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := c.config.Observe(ctx); err != nil && ctx.Err() == nil {
			c.config.Log.Error("observe", "err", err)
		}
		c.Wake()
	}
}

// gather waits for more pods.
func (c *Controller) gather(ctx context.Context) {
	if c.config.Window == 0 {
		return
	}
	timer := time.NewTimer(c.config.Window)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// pageSize is how many pods are read in one request.
const pageSize = 500

// Reread reads all pods of ours as the API server has them now. The watches go on
// meanwhile: what came after the list was made is not dropped for not being on it, and
// what went is not taken in again.
func (c *Controller) Reread(ctx context.Context) error {
	options := metav1.ListOptions{LabelSelector: api.LabelTask + "=" + api.True, Limit: pageSize}
	known := map[types.UID]bool{} // before; true once the list has it
	for _, pod := range c.config.Books.Tasks() {
		known[pod.UID] = false
	}
	var fresh []*corev1.Pod
	for {
		list, err := c.config.Client.CoreV1().Pods("").List(ctx, options)
		if err != nil {
			return fmt.Errorf("controller: read the pods: %w", err)
		}
		for i := range list.Items {
			pod := pods.Trim(&list.Items[i])
			if _, old := known[pod.UID]; old {
				c.config.Books.Update(pod)
			} else {
				fresh = append(fresh, pod)
				c.config.Books.SetPod(pod)
			}
			known[pod.UID] = true
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	for _, pod := range c.config.Books.Tasks() {
		if listed, old := known[pod.UID]; !old || listed {
			continue
		}
		if now, err := c.get(ctx, pod); err == nil { // it lost its label, and may hold a card
			c.config.Books.Update(now)
		} else if gone(err) {
			c.config.Books.DropPod(pod.UID)
		}
	}
	for _, pod := range fresh { // few: those of which the watches had not told
		if _, err := c.get(ctx, pod); err != nil && gone(err) {
			c.config.Books.DropPod(pod.UID)
		}
	}
	return nil
}

// Step decides about all that wait, writes what was decided, some pods at the same time,
// and returns when all are written. First it looks after writes of which nobody knows
// what became.
func (c *Controller) Step(ctx context.Context) error {
	defer c.writes.Wait()
	return c.step(ctx)
}

// step does not wait for the writes.
func (c *Controller) step(ctx context.Context) error {
	c.mend(ctx)
	for more := true; more && ctx.Err() == nil; {
		start := c.config.Now()
		r, err := c.config.Books.Decide(ctx)
		if err != nil {
			return err
		}
		c.count(&r, c.config.Now().Sub(start))
		for i := range r.Decisions {
			c.start(r.Decisions[i].Pod.UID, func() { c.bind(ctx, &r.Decisions[i]) })
		}
		for i := range r.Refusals {
			if c.news(r.Refusals[i].Pod, r.Refusals[i].Reason) {
				c.start(r.Refusals[i].Pod.UID, func() { c.refuse(ctx, &r.Refusals[i]) })
			}
		}
		for i := range r.Preemptions {
			c.start(r.Preemptions[i].For.UID, func() { c.preempt(ctx, &r.Preemptions[i]) })
		}
		more = r.More
	}
	return nil
}

// mend looks after what was left half done: writes of which nobody knows what became,
// and conditions that were not written.
func (c *Controller) mend(ctx context.Context) {
	for _, pod := range c.config.Books.Unclear() {
		c.once(pod.UID, func() { c.ask(ctx, pod) })
	}
	for _, b := range c.config.Books.Unclaimed() {
		if name, made := c.claimed.Load(b.Pod.UID); (!made || name != claims.Name(b.Pod, b.At)) && c.due(b.Pod) {
			c.once(b.Pod.UID, func() { c.complete(ctx, &b) })
		}
	}
	c.config.Books.Reopen()
	for _, s := range c.config.Books.Stuck() {
		switch {
		case c.config.Unpinned:
			c.once(s.Pod.UID, func() { c.leave(ctx, &s.Bound) })
		case c.due(s.Pod):
			c.once(s.Pod.UID, func() { c.remake(ctx, &s) })
		}
	}
	c.lament()
	for _, r := range c.config.Books.Unsaid() {
		if c.news(r.Pod, r.Reason) {
			c.start(r.Pod.UID, func() { c.say(ctx, r.Pod, pods.Condition(r.Reason == books.Placed, r.Reason, r.Text)) })
		}
	}
}

// lament tells pods whose gangs lack others, once until they are whole.
func (c *Controller) lament() {
	now := map[types.UID]bool{}
	for _, r := range c.config.Books.Broken() {
		if now[r.Pod.UID] = true; c.broken[r.Pod.UID] {
			continue
		}
		c.config.Log.Warn("gang broken", "pod", r.Pod.Namespace+"/"+r.Pod.Name, "text", r.Text)
		if c.config.Events != nil {
			c.config.Events.Event(r.Pod, corev1.EventTypeWarning, r.Reason, r.Text)
		}
	}
	c.broken = now
}

// once does something about a pod in the background, unless mend is at work with it.
func (c *Controller) once(uid types.UID, do func()) {
	if _, under := c.under.LoadOrStore(uid, true); under {
		return
	}
	c.start(uid, func() {
		defer c.under.Delete(uid)
		do()
	})
}

// count tells the metrics what a round did.
func (c *Controller) count(r *books.Round, took time.Duration) {
	m := c.config.Metrics
	if m == nil || len(r.Decisions)+len(r.Refusals) == 0 {
		return
	}
	m.Took(took)
	result := "placed"
	if c.config.Shadow {
		result = "shadow"
	}
	for i := range r.Decisions {
		m.Decided(result, "")
		m.Predicted(r.Decisions[i].Speed)
	}
	for i := range r.Refusals {
		m.Decided("waiting", r.Refusals[i].Reason)
	}
}
