package nodes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/profile"
)

// Driver is the DRA driver whose ResourceSlices are read.
const Driver = "gpu.nvidia.com"

// Labels of NVIDIA's GPU feature discovery.
const (
	labelProduct  = "nvidia.com/gpu.product"
	labelMemory   = "nvidia.com/gpu.memory" // MiB
	labelCount    = "nvidia.com/gpu.count"
	labelStrategy = "nvidia.com/mig.strategy"
	labelLayout   = "nvidia.com/mig.config"
)

// maxCards bounds the cards of a node.
const maxCards = 256

// Card is one GPU, or one MIG instance, of a node.
type Card struct {
	// Device is its name on the node: gpu-0, or what the driver calls it.
	Device string
	// Address is what NVIDIA_VISIBLE_DEVICES has to be to get this card alone: its UUID
	// where the node tells it, else its index.
	Address string
	// GPU is what the Planner is told; its ID is NODE/DEVICE.
	GPU colloc.GPU
	// Closed says why nothing may be placed there, for example a taint of the device;
	// empty is open.
	Closed string
	// Pool is the pool in which a DRA driver offers it; empty where labels tell of it.
	Pool string
	// Limits are what holds tasks there to the memory that is set aside for them.
	Limits api.Limits
	// Counted says that several ResourceClaims may share it, each with its part of the
	// memory, so that the scheduler counts them.
	Counted bool
}

// Reader reads cards. Equal products and slices share their memory, so that the Planner
// tells fast that cards are alike. Not safe for concurrent use; the zero Reader is ready.
type Reader struct {
	models map[string]profile.GPUModel
	slices map[string]*profile.MIGProfile
}

// fromLabels reads what GPU feature discovery says.
func (r *Reader) fromLabels(node *corev1.Node) ([]Card, []string) {
	l := node.Labels
	var cards []Card
	var notes []string
	product := l[labelProduct]
	if product == "" && l[labelCount] == "" {
		return nil, nil
	}
	count, err := strconv.Atoi(l[labelCount])
	if err != nil || count < 0 || count > maxCards {
		return nil, []string{fmt.Sprintf("label %s is %q, want 0 to %d", labelCount, l[labelCount], maxCards)}
	}
	model, slice := r.product(product)
	memory, err := mebibytes(l[labelMemory])
	if err != nil {
		notes = append(notes, err.Error())
	}
	if memory == 0 && model.Memory == 0 {
		return nil, append(notes, fmt.Sprintf("product %q is not in the catalogue and label %s does not tell its memory", product, labelMemory))
	}
	if l[labelStrategy] == "mixed" {
		notes = append(notes, "MIG instances of strategy mixed cannot be told apart by labels; a DRA driver's ResourceSlices name them")
		if mixedOnly(l) {
			return nil, notes
		}
	}
	uuids, why := named(node, count)
	if why != "" {
		return nil, append(notes, why)
	}
	for i := range count {
		card := Card{Device: "gpu-" + strconv.Itoa(i), Address: strconv.Itoa(i)}
		if slice != nil {
			card.Device = "mig-" + strconv.Itoa(i)
			if l[labelLayout] != "all-"+slice.Name || slice.Max < 1 || count%slice.Max != 0 {
				return nil, append(notes, fmt.Sprintf("MIG instances cannot be addressed without label %s=all-%s; a DRA driver's ResourceSlices name them", labelLayout, slice.Name))
			}
			card.Address = fmt.Sprintf("%d:%d", i/slice.Max, i%slice.Max)
		}
		if uuids != nil && slice == nil {
			card.Address, card.Device = uuids[i], strings.ToLower(uuids[i])
		}
		card.GPU = colloc.GPU{ID: node.Name + "/" + card.Device, Model: model, Memory: memory, Slice: slice, Mechanisms: sharing(l)}
		cards = append(cards, card)
	}
	return cards, notes
}

// named returns the UUIDs of a node's GPUs if it is annotated with them; why says what is
// wrong with these.
func named(node *corev1.Node, count int) (uuids []string, why string) {
	text := node.Annotations[api.AnnotationUUIDs]
	if text == "" {
		return nil, ""
	}
	if uuids = strings.Split(text, ","); len(uuids) != count {
		return nil, fmt.Sprintf("label %s says %d and annotation %s names %d: a GPU has come or gone; write the annotation anew", labelCount, count, api.AnnotationUUIDs, len(uuids))
	}
	for i, u := range uuids {
		if !strings.HasPrefix(u, "GPU-") || len(validation.IsDNS1123Subdomain(strings.ToLower(u))) > 0 || slices.Contains(uuids[:i], u) {
			return nil, fmt.Sprintf("annotation %s: %q is no UUID of a GPU, or comes twice", api.AnnotationUUIDs, u)
		}
	}
	return uuids, ""
}

// mixedOnly reports whether all GPUs of a node with MIG strategy mixed are cut: then
// the label with their number speaks of nothing that a pod could have.
func mixedOnly(labels map[string]string) bool {
	for name := range labels {
		if strings.HasPrefix(name, "nvidia.com/mig-") && strings.HasSuffix(name, ".count") {
			return true
		}
	}
	return false
}

// limits are what an administrator says that holds tasks to their memory.
func limits(labels map[string]string) api.Limits {
	return api.Limits{MPS: labels[api.LabelMPS] == api.True, HAMi: labels[api.LabelHAMi] == api.True}
}

// sharing is how the cards of a node may be shared: nil is by time-slicing. The device
// plugin's own label is no word for MPS: its daemon reaches only pods that ask the plugin.
func sharing(labels map[string]string) []profile.Mechanism {
	if labels[api.LabelMPS] == api.True {
		return []profile.Mechanism{profile.MPS}
	}
	return nil
}

func mebibytes(text string) (profile.Bytes, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > 1<<36 {
		return 0, fmt.Errorf("label %s is %q, want a number of MiB", labelMemory, text)
	}
	return profile.Bytes(n) * profile.MiB, nil
}

// product finds the model that a label or a slice names, and the MIG instance if it
// names one. A product out of the catalogue has its name and nothing else.
func (r *Reader) product(name string) (profile.GPUModel, *profile.MIGProfile) {
	if r.models == nil {
		r.models, r.slices = map[string]profile.GPUModel{}, map[string]*profile.MIGProfile{}
	}
	model, seen := r.models[name]
	if !seen {
		found, ok := profile.LookupGPU(name)
		if !ok {
			found = profile.GPUModel{Name: strings.TrimSuffix(name, "-SHARED")}
		}
		model = found
		r.models[name] = model
		if ok && (&profile.GPUModel{Name: name}).Sliced() {
			r.slices[name] = instance(&model, strings.TrimSuffix(name, "-SHARED"))
		}
	}
	return model, r.slices[name]
}

// instance finds the MIG profile with which a product's name ends; nil is none.
func instance(model *profile.GPUModel, name string) *profile.MIGProfile {
	for i := range model.MIG {
		if m := &model.MIG[i]; strings.HasSuffix(strings.ToLower(name), strings.ToLower(m.Name)) {
			return m
		}
	}
	return nil
}
