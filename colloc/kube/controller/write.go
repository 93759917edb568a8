package controller

import (
	"context"
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
)

// bind writes a decision and tells the books what became of it.
func (c *Controller) bind(ctx context.Context, d *books.Decision) {
	outcome, pod := c.write(ctx, d)
	if err := c.config.Books.Finish(d.Pod.UID, outcome, pod); err != nil && !errors.Is(err, books.ErrNotWriting) {
		c.config.Log.Error("finish", "pod", d.Pod.Namespace+"/"+d.Pod.Name, "err", err)
	}
	if outcome == books.Refused && pod != nil {
		c.config.Books.Update(pod) // somebody else may have decided
	}
	if outcome != books.Written {
		c.config.Log.Warn("not written", "pod", d.Pod.Namespace+"/"+d.Pod.Name, "gpu", d.At.GPU(), "unclear", outcome == books.Unclear)
		c.Wake()
		return
	}
	c.config.Log.Debug("placed", "pod", d.Pod.Namespace+"/"+d.Pod.Name, "gpu", d.At.GPU())
	reason := books.Placed
	if c.config.Shadow {
		reason = "Shadow"
	}
	c.said.Store(d.Pod.UID, reason)
	var status []corev1.PodResourceClaimStatus
	if c.config.Claims && !c.config.Shadow {
		c.claimed.Store(d.Pod.UID, claims.Name(d.Pod, d.At))
		var err error
		if status, err = c.claim(ctx, d.Pod, d.At); err != nil {
			c.claimed.Delete(d.Pod.UID)
			c.later(d.Pod, "NoClaim", "it is placed, but cannot start", err)
		}
	}
	c.say(ctx, d.Pod, pods.Condition(!c.config.Shadow, reason, d.Text), status...)
}

// write patches a pod, again where the pod changed meanwhile or the API server had no
// time, and reports what became of it. pod is as it was read last, nil if it was not.
func (c *Controller) write(ctx context.Context, d *books.Decision) (outcome books.Outcome, pod *corev1.Pod) {
	current := d.Pod
	sure := true // nothing sent so far may have been done
	for try := range maxTries {
		if try > 0 {
			c.config.Pause(ctx, try-1)
		}
		got, err := c.patch(ctx, current, d)
		if err == nil {
			return books.Written, pods.Trim(got)
		}
		c.wrote(err)
		sure = sure && !isUnclear(err)
		switch {
		case ctx.Err() != nil && !sure:
			return books.Unclear, nil
		case ctx.Err() != nil, definite(err) && sure:
			return books.Refused, nil
		}
		now, err := c.get(ctx, current)
		switch {
		case err != nil && gone(err):
			return books.Refused, nil
		case err != nil:
			continue // try again: the patch is refused if it was done
		}
		phase, at := pods.PhaseOf(now)
		if c.config.Shadow && now.Annotations[api.AnnotationShadow] == pods.ShadowValue(d.At) {
			return books.Written, now
		}
		switch {
		case phase == pods.Placed && at == d.At:
			return books.Written, now
		case !pods.Ours(now), phase != pods.Waiting && !c.config.Shadow && (phase != pods.Placed || at != d.Left), !same(current, now):
			return books.Refused, now
		}
		sure = sure || now.ResourceVersion != current.ResourceVersion // what was sent for another version is refused
		current = now
	}
	if sure {
		return books.Refused, nil
	}
	return books.Unclear, nil
}

// patch sends the decision once.
func (c *Controller) patch(ctx context.Context, pod *corev1.Pod, d *books.Decision) (*corev1.Pod, error) {
	body, err := pods.Patch(pod, d.At, !c.config.Unpinned)
	if c.config.Shadow {
		body, err = pods.ShadowPatch(pod, d.At)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return c.config.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: api.FieldManager})
}

// same reports whether what was decided of a pod holds for it as it is now.
func same(was, now *corev1.Pod) bool {
	return nodes.ShapeOf(was).Key == nodes.ShapeOf(now).Key && maps.Equal(demand(was), demand(now))
}

// demand are the annotations that a decision rests on.
func demand(pod *corev1.Pod) map[string]string {
	d := map[string]string{}
	for _, name := range []string{api.AnnotationProfile, api.AnnotationMemory, api.AnnotationMaxSlowdown, api.AnnotationAlone, api.AnnotationGPUs, api.AnnotationGangSize, api.AnnotationGang} {
		if value, set := pod.Annotations[name]; set {
			d[name] = value
		}
	}
	return d
}

// ask finds out what became of a write.
func (c *Controller) ask(ctx context.Context, pod *corev1.Pod) {
	now, err := c.get(ctx, pod)
	switch {
	case err != nil && gone(err):
		c.config.Books.DropPod(pod.UID)
		return
	case err != nil:
		c.wrote(err)
		return
	}
	c.config.Books.Update(now)
	if phase, _ := pods.PhaseOf(now); phase == pods.Waiting || phase == pods.Held {
		if err := c.config.Books.Finish(pod.UID, books.Refused, now); err != nil && !errors.Is(err, books.ErrNotWriting) {
			c.config.Log.Error("finish", "pod", pod.Namespace+"/"+pod.Name, "err", err)
		}
	}
}

// Preempted is the reason of evictions that make room, as metrics name it.
const Preempted = "Preempted"

// preempt evicts pods for one that has no room, all or none, and tells the books who
// stays.
func (c *Controller) preempt(ctx context.Context, p *books.Preemption) {
	if c.config.Evictor == nil {
		c.config.Books.Stays(p.Victims)
		return
	}
	if err := c.config.Evictor.All(ctx, p.Victims, Preempted, p.Text); err != nil {
		c.config.Books.Stays(p.Victims)
		c.config.Log.Warn("no room made", "pod", p.For.Namespace+"/"+p.For.Name, "err", err)
		c.Wake()
	}
}
