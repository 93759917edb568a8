package pods

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/colloc/kube/api"
)

// Patch is the merge patch that binds a pod to a card: the decision as annotations, the
// node in every term of the node affinity if it is to be pinned there, and our gate away.
// Of a pod without our gate, which was placed before, only the annotations can change. It
// holds for the pod as it was read: with another UID or resource version the API server
// refuses it, so that of two deciders, and of two tries of one, only the first succeeds.
func Patch(pod *corev1.Pod, p api.Placement, pinned bool) ([]byte, error) {
	notes := map[string]any{}
	for _, name := range []string{api.AnnotationMPSLimit, api.AnnotationHAMiLimit} {
		if _, left := pod.Annotations[name]; left {
			notes[name] = nil // of where it was placed before
		}
	}
	for name, value := range p.Annotations() {
		notes[name] = value
	}
	patch := map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion, "annotations": notes},
	}
	gates := []corev1.PodSchedulingGate{}
	for _, g := range pod.Spec.SchedulingGates {
		if g.Name != api.Gate {
			gates = append(gates, g)
		}
	}
	if len(gates) < len(pod.Spec.SchedulingGates) {
		spec := map[string]any{"schedulingGates": gates}
		if pinned {
			spec["affinity"] = map[string]any{"nodeAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": pin(pod, p.Node)}}
		}
		patch["spec"] = spec
	}
	return json.Marshal(patch)
}

// ShadowPatch is the merge patch that records a decision and binds nothing.
func ShadowPatch(pod *corev1.Pod, p api.Placement) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]string{api.AnnotationShadow: ShadowValue(p)}},
	})
}

// ShadowValue is a decision that binds nothing, as [api.AnnotationShadow] holds it:
// NODE/DEVICE and the reservation in bytes.
func ShadowValue(p api.Placement) string { return fmt.Sprintf("%s %d", p.GPU(), p.Reserved) }

// Shadow reads what ShadowValue wrote; false is that there is none.
func Shadow(pod *corev1.Pod) (api.Placement, bool) {
	gpu, reserved, _ := strings.Cut(pod.Annotations[api.AnnotationShadow], " ")
	p, ok, err := api.ReadPlacement(map[string]string{api.AnnotationGPU: gpu, api.AnnotationReserved: reserved})
	return p, ok && err == nil
}

// pin adds the node's name to every term of the pod's required node affinity. The terms
// are alternatives: one that is left out would let the pod go elsewhere.
func pin(pod *corev1.Pod, node string) *corev1.NodeSelector {
	name := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	selector := required(pod)
	if selector == nil || len(selector.NodeSelectorTerms) == 0 {
		return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{name}}}}
	}
	pinned := selector.DeepCopy()
	for i := range pinned.NodeSelectorTerms {
		t := &pinned.NodeSelectorTerms[i]
		there := slices.ContainsFunc(t.MatchFields, func(r corev1.NodeSelectorRequirement) bool {
			return r.Key == name.Key && r.Operator == name.Operator && slices.Equal(r.Values, name.Values)
		})
		if len(t.MatchFields)+len(t.MatchExpressions) > 0 && !there { // an empty term matches no node, and may stay so
			t.MatchFields = append(t.MatchFields, name)
		}
	}
	return pinned
}

func required(pod *corev1.Pod) *corev1.NodeSelector {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// Condition says what was decided.
func Condition(placed bool, reason, message string) corev1.PodCondition {
	c := corev1.PodCondition{Type: api.ConditionPlaced, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	if placed {
		c.Status = corev1.ConditionTrue
	}
	return c
}

// Said returns the condition that a pod carries, nil for none.
func Said(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == api.ConditionPlaced {
			return c
		}
	}
	return nil
}
