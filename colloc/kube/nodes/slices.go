package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// fromSlices reads what the DRA driver says.
func (r *Reader) fromSlices(node *corev1.Node, own []*resourcev1.ResourceSlice) (cards []Card, notes []string) {
	seen := map[string]bool{}
	for _, s := range own {
		for i := range s.Spec.Devices {
			d := &s.Spec.Devices[i]
			card, why := r.device(node, d)
			card.Pool = s.Spec.Pool.Name
			switch {
			case seen[d.Name]:
			case why != "":
				notes = append(notes, "device "+d.Name+": "+why)
			default:
				cards = append(cards, card)
			}
			seen[d.Name] = true
		}
	}
	if len(cards) > maxCards {
		notes = append(notes, fmt.Sprintf("%d devices, only %d count", len(cards), maxCards))
		cards = cards[:maxCards]
	}
	slices.SortStableFunc(cards, func(a, b Card) int {
		return cmp.Or(cmp.Compare(len(a.Device), len(b.Device)), cmp.Compare(a.Device, b.Device)) // gpu-9 before gpu-10
	})
	return cards, notes
}

// device reads one; why says what is missing.
func (r *Reader) device(node *corev1.Node, d *resourcev1.Device) (card Card, why string) {
	uuid := text(d, "uuid")
	if uuid == "" {
		return Card{}, "it has no uuid yet" // an instance that the driver would cut when it is claimed
	}
	name := text(d, "productName")
	if cut := text(d, "profile"); cut != "" && !strings.HasSuffix(name, cut) {
		name += "-MIG-" + cut
	}
	model, slice := r.product(name)
	memory := capacity(d, "memory")
	if memory <= 0 && model.Memory == 0 {
		return Card{}, fmt.Sprintf("product %q is not in the catalogue and capacity memory is not told", name)
	}
	card = Card{Device: d.Name, Address: uuid, Closed: tainted(d), Counted: d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations && capacity(d, "memory") > 0}
	card.GPU = colloc.GPU{
		ID: node.Name + "/" + d.Name, Model: model, Memory: max(0, memory), Slice: slice,
		Mechanisms: sharing(node.Labels),
	}
	return card, ""
}

// text is an attribute of a device, with or without its domain.
func text(d *resourcev1.Device, name string) string {
	for _, key := range []string{name, Driver + "/" + name} {
		if a, ok := d.Attributes[resourcev1.QualifiedName(key)]; ok && a.StringValue != nil {
			return *a.StringValue
		}
	}
	return ""
}

// capacity is that of a device, in bytes; 0 is not told.
func capacity(d *resourcev1.Device, name string) profile.Bytes {
	for _, key := range []string{name, Driver + "/" + name} {
		if c, ok := d.Capacity[resourcev1.QualifiedName(key)]; ok {
			return profile.Bytes(min(c.Value.Value(), 1<<56))
		}
	}
	return 0
}

// tainted says which taint of a device keeps pods off it.
func tainted(d *resourcev1.Device) string {
	for _, t := range d.Taints {
		if t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute {
			return fmt.Sprintf("device taint %s:%s", t.Key, t.Effect)
		}
	}
	return ""
}
