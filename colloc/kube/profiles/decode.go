package profiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/profile"
)

// Object is a Profile as the API server has it.
type Object struct {
	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitzero"`
}

// Spec is what the owner of a task says of it.
type Spec struct {
	profile.Spec
	// Measured is what was seen of the task alone on a GPU, one entry a product.
	Measured []Measured `json:"measured,omitempty"`
}

// Status is what collocd says.
type Status struct {
	// Measured is what collocd saw of the task alone. Where the Spec speaks of the same
	// product, that counts.
	Measured []Measured `json:"measured,omitempty"`
}

// Measured is what was seen of a task alone on a GPU.
type Measured struct {
	// GPU is the product, by any name that [profile.LookupGPU] knows.
	GPU string `json:"gpu"`
	// At is when the measurement ended; zero is not told.
	At time.Time `json:"at,omitzero"`
	// Sample are means over the time that was watched. Without a Window it counts as a
	// minute.
	Sample profile.Sample `json:"sample"`
}

// Decode reads a Profile. What is wrong with it is in [pods.Known].Fault: a task with
// such a Profile runs alone.
func Decode(u *unstructured.Unstructured) pods.Known {
	known := pods.Known{Version: string(u.GetUID()) + "/" + u.GetResourceVersion()}
	text, err := u.MarshalJSON()
	var o Object
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err == nil {
		known.Profile, known.Elsewhere, err = o.profiles()
	}
	if err != nil {
		known.Profile, known.Elsewhere, known.Fault = nil, nil, err.Error()
	}
	return known
}

// Tells reports whether a Profile tells what was measured on a product.
func Tells(u *unstructured.Unstructured, model profile.GPUModel) bool {
	var o Object
	text, err := u.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return err == nil && slices.ContainsFunc(slices.Concat(o.Spec.Measured, o.Status.Measured), func(m Measured) bool {
		of, _ := profile.LookupGPU(m.GPU)
		return of.Name == model.Name
	})
}

// profiles makes one for each product on which the task was measured, the first one
// first. A task that was measured nowhere has one all the same: of its description.
func (o *Object) profiles() (first *profile.Profile, elsewhere []*profile.Profile, err error) {
	seen := map[string]bool{}
	var all []*profile.Profile
	for _, m := range slices.Concat(o.Spec.Measured, o.Status.Measured) {
		model, known := profile.LookupGPU(m.GPU)
		if !known {
			return nil, nil, fmt.Errorf("measured: GPU %q is not in the catalogue", m.GPU)
		}
		if seen[model.Name] {
			continue
		}
		seen[model.Name] = true
		if m.Sample.Window == 0 {
			m.Sample.Window = time.Minute
		}
		p, err := profile.New(o.Spec.Spec, profile.Trace{Samples: []profile.Sample{m.Sample}}, model)
		if err != nil {
			return nil, nil, fmt.Errorf("measured on %s: %w", m.GPU, err)
		}
		all = append(all, &p)
	}
	if len(all) == 0 {
		p, err := profile.New(o.Spec.Spec, profile.Trace{}, profile.GPUModel{})
		if err != nil {
			return nil, nil, err
		}
		if len(o.Spec.Model.Layers) == 0 {
			return nil, nil, errors.New("it has neither layers nor anything measured")
		}
		all = append(all, &p)
	}
	return all[0], all[1:], nil
}
