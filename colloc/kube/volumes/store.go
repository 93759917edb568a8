package volumes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"example.com/colloc/colloc/kube/internal/served"
)

// Store is the claims, volumes and classes that there are. The zero Store has none. Safe for concurrent use.
type Store struct {
	mu      sync.RWMutex
	claims  map[string]*corev1.PersistentVolumeClaim // by namespace/name
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
}

// Of names the claims of a pod's volumes.
func Of(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, pod.Name+"-"+v.Name)
		}
	}
	return names
}

// set puts an object in, or takes it out.
func (s *Store) set(o any, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := o.(type) {
	case *corev1.PersistentVolumeClaim:
		put(&s.claims, o.Namespace+"/"+o.Name, o, gone)
	case *corev1.PersistentVolume:
		put(&s.volumes, o.Name, o, gone)
	case *storagev1.StorageClass:
		put(&s.classes, o.Name, o, gone)
	}
}

func put[T any](m *map[string]T, name string, o T, gone bool) {
	if *m == nil {
		*m = map[string]T{}
	}
	if gone {
		delete(*m, name)
	} else {
		(*m)[name] = o
	}
}

// Set takes in a claim, a volume or a class that is new or changed.
func (s *Store) Set(o any) { s.set(o, false) }

// Watch keeps the Store until ctx is over, and returns once it has all there is. changed is called after
// each change from then on.
func (s *Store) Watch(ctx context.Context, client kubernetes.Interface, changed func()) error {
	f := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trim))
	var synced []cache.InformerSynced
	for _, i := range []cache.SharedIndexInformer{
		f.Core().V1().PersistentVolumeClaims().Informer(), f.Core().V1().PersistentVolumes().Informer(), f.Storage().V1().StorageClasses().Informer(),
	} {
		tell := func(o any, gone bool) {
			s.set(o, gone)
			changed()
		}
		filled, err := served.Tell(i, func(_, o any) { tell(o, false) }, func(o any) { tell(o, true) })
		if err != nil {
			return fmt.Errorf("volumes: %w", err)
		}
		synced = append(synced, filled)
	}
	f.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("volumes: the watches did not fill: %w", context.Cause(ctx))
	}
	return nil
}

// Load reads the API server once.
func (s *Store) Load(ctx context.Context, client kubernetes.Interface) error {
	claims, err := client.CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range claims.Items {
		s.Set(&claims.Items[i])
	}
	volumes, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range volumes.Items {
		s.Set(&volumes.Items[i])
	}
	classes, err := client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range classes.Items {
		s.Set(&classes.Items[i])
	}
	return nil
}

// trim drops what is not read.
func trim(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return o, nil
}

// Refuses says why a pod with these claims must not be on a node; empty is that it may.
func (s *Store) Refuses(namespace string, claims []string, node *corev1.Node) string {
	if len(claims) == 0 {
		return ""
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, name := range claims {
		if why := s.refuses(namespace, name, node); why != "" {
			return why
		}
	}
	return ""
}

func (s *Store) refuses(namespace, name string, node *corev1.Node) string {
	c := s.claims[namespace+"/"+name]
	if c == nil || c.DeletionTimestamp != nil {
		return "volume claim " + name + " is not there"
	}
	if c.Spec.VolumeName != "" {
		v := s.volumes[c.Spec.VolumeName]
		if v == nil {
			return "the volume of claim " + name + " is not there"
		}
		return at(v, node)
	}
	class := s.classes[classOf(c)]
	switch {
	case class == nil || class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer:
		return "volume claim " + name + " is not bound"
	case class.Provisioner == "kubernetes.io/no-provisioner":
		for _, v := range s.volumes {
			if serves(v, c) && at(v, node) == "" {
				return ""
			}
		}
		return "no volume there for claim " + name
	case !allowed(class.AllowedTopologies, node):
		return "storage class " + class.Name
	}
	return ""
}

func classOf(c *corev1.PersistentVolumeClaim) string {
	if c.Spec.StorageClassName != nil {
		return *c.Spec.StorageClassName
	}
	return c.Annotations[corev1.BetaStorageClassAnnotation]
}

// at says why a volume cannot be had on a node.
func at(v *corev1.PersistentVolume, node *corev1.Node) string {
	const why = "its volume is elsewhere"
	if a := v.Spec.NodeAffinity; a != nil && a.Required != nil {
		s, err := nodeaffinity.NewNodeSelector(a.Required)
		if err != nil || !s.Match(node) {
			return why
		}
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion} {
		zones, set := v.Labels[key]
		is, has := node.Labels[key]
		if set && has && !slices.Contains(strings.Split(zones, "__"), is) {
			return why
		}
	}
	return ""
}

// serves reports whether a volume that is free would do for a claim.
func serves(v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) bool {
	if v.Spec.StorageClassName != classOf(c) || v.DeletionTimestamp != nil {
		return false
	}
	if r := v.Spec.ClaimRef; r != nil && (r.Namespace != c.Namespace || r.Name != c.Name) {
		return false
	}
	want, has := c.Spec.Resources.Requests[corev1.ResourceStorage], v.Spec.Capacity[corev1.ResourceStorage]
	for _, mode := range c.Spec.AccessModes {
		if !slices.Contains(v.Spec.AccessModes, mode) {
			return false
		}
	}
	if s := c.Spec.Selector; s != nil {
		of, err := metav1.LabelSelectorAsSelector(s)
		if err != nil || !of.Matches(labels.Set(v.Labels)) {
			return false
		}
	}
	return has.Cmp(want) >= 0
}

// allowed reports whether a node is where a class provides.
func allowed(list []corev1.TopologySelectorTerm, node *corev1.Node) bool {
	for _, t := range list {
		all := true
		for _, e := range t.MatchLabelExpressions {
			value, has := node.Labels[e.Key]
			all = all && has && slices.Contains(e.Values, value)
		}
		if all {
			return true
		}
	}
	return len(list) == 0
}
