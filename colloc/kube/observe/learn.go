package observe

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/profiles"
	"example.com/colloc/profile"
)

// learn draws from a set that has not changed for a Window: alone, what the task is;
// together, how fast its members are. Once a Window is enough.
func (o *Observer) learn(ctx context.Context, s *books.Set, w *watched, now time.Time) {
	if now.Sub(w.taught) < o.config.Window {
		return
	}
	if s.Members[0].Gang { // one card does not tell of a task that has others
		return
	}
	if len(s.Members) == 1 {
		w.taught = now
		o.measure(ctx, s, now)
		return
	}
	observation := colloc.Observation{GPU: s.Model, Mechanism: s.Mechanism}
	known := false
	for i := range s.Members {
		m := &s.Members[i]
		if m.Profile == nil {
			return // nothing is known of one of them: nothing can be learned of the others
		}
		speed := o.speed(ctx, s, m)
		observation.Members = append(observation.Members, colloc.Measurement{Profile: m.Profile, Speed: speed})
		known = known || !speed.IsZero()
	}
	w.taught = now
	if !known || s.Slice {
		return
	}
	if err := o.config.Books.Planner().Observe(observation); err != nil {
		o.config.Log.Warn("not learned", "gpu", s.ID, "err", err)
		return
	}
	o.learned++
	o.sinceFit++
	for i := range observation.Members {
		if x, known := observation.Members[i].Speed.Get(); known && o.config.Metrics != nil {
			o.config.Metrics.Seen(x)
		}
	}
}

// speed is that of a member as a fraction of what it is alone on such a card; missing is
// that one of them is not known.
func (o *Observer) speed(ctx context.Context, s *books.Set, m *books.Member) profile.Opt[float64] {
	step, known := m.Profile.Vector.Get(profile.MedianStepTime)
	if !known || step <= 0 || m.Profile.GPU.Name != s.Model.Name {
		return profile.Opt[float64]{}
	}
	rate := o.rate(ctx, m.Pod)
	if x, known := rate.Get(); known && x >= 0 {
		return profile.Some(min(1, x*step))
	}
	return profile.Opt[float64]{}
}

// rate is how many steps a pod takes in a second, by its own query.
func (o *Observer) rate(ctx context.Context, pod *corev1.Pod) profile.Opt[float64] {
	query := pod.Annotations[api.AnnotationRate]
	if query == "" {
		return profile.Opt[float64]{}
	}
	x, err := o.one(ctx, query)
	if err != nil {
		o.config.Log.Warn("step rate", "pod", pod.Namespace+"/"+pod.Name, "err", err)
	}
	return x
}

// measure writes what was seen of a task alone into the status of its Profile, unless the
// Profile tells of such a card already.
func (o *Observer) measure(ctx context.Context, s *books.Set, now time.Time) {
	pod := s.Members[0].Pod
	demand, err := api.ReadDemand(pod.Annotations)
	if err != nil || demand.Profile == "" || s.Slice || o.config.Profiles == nil {
		return
	}
	of := o.config.Profiles.Resource(profiles.Resource()).Namespace(pod.Namespace)
	object, err := of.Get(ctx, demand.Profile, metav1.GetOptions{})
	if err != nil || profiles.Tells(object, s.Model) {
		return // a Profile that does not exist is not made: only its owner knows what the task is
	}
	sample, err := o.config.Prometheus.Card(ctx, s.Node, s.Address, now.Add(-o.config.Window), now)
	if err != nil {
		o.config.Log.Warn("not measured", "pod", pod.Namespace+"/"+pod.Name, "err", err)
		return
	}
	if sample.GPUBusy.IsZero() && sample.SMActive.IsZero() {
		o.config.Log.Info("nothing was measured", "pod", pod.Namespace+"/"+pod.Name, "gpu", s.ID)
		return
	}
	if rate, known := o.rate(ctx, pod).Get(); known && rate > 0 {
		sample.StepTime = profile.Some(time.Duration(float64(time.Second) / rate))
	}
	if err := o.write(ctx, object, profiles.Measured{GPU: s.Model.Name, At: now.UTC(), Sample: sample}); err != nil {
		o.config.Log.Warn("Profile not written", "profile", pod.Namespace+"/"+demand.Profile, "err", err)
		return
	}
	o.config.Log.Info("measured", "profile", pod.Namespace+"/"+demand.Profile, "gpu", s.Model.Name)
	if o.config.Events != nil {
		o.config.Events.Eventf(pod, corev1.EventTypeNormal, "Measured", "Profile %s tells of %s now", demand.Profile, s.Model.Name)
	}
}

// write adds a measurement to a Profile's status. It is refused if the Profile has
// changed meanwhile.
func (o *Observer) write(ctx context.Context, object *unstructured.Unstructured, m profiles.Measured) error {
	m.Sample.Window = 0 // no field of the resource: it is the observer's
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var entry map[string]any
	if err := json.Unmarshal(text, &entry); err != nil {
		return err
	}
	object = object.DeepCopy()
	list, _, err := unstructured.NestedSlice(object.Object, "status", "measured")
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedSlice(object.Object, append(list, entry), "status", "measured"); err != nil {
		return err
	}
	_, err = o.config.Profiles.Resource(profiles.Resource()).Namespace(object.GetNamespace()).UpdateStatus(ctx, object, metav1.UpdateOptions{FieldManager: api.FieldManager})
	return err
}

// loosen sets less aside for pods that were alone because nothing was known of them.
func (o *Observer) loosen(ctx context.Context) {
	for _, b := range o.config.Books.Loosened() {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": b.Pod.UID, "annotations": map[string]string{api.AnnotationReserved: strconv.FormatInt(int64(b.At.Reserved), 10)},
		}})
		if err == nil {
			_, err = o.config.Client.CoreV1().Pods(b.Pod.Namespace).Patch(ctx, b.Pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: api.FieldManager})
		}
		if err != nil {
			o.config.Log.Warn("reservation not lowered", "pod", b.Pod.Namespace+"/"+b.Pod.Name, "err", err)
			continue
		}
		o.config.Books.Loosen(b.Pod.UID, b.At.Reserved)
		o.config.Log.Info("others may join it now", "pod", b.Pod.Namespace+"/"+b.Pod.Name, "gpu", b.At.GPU(), "reserved", b.At.Reserved.String())
	}
}
