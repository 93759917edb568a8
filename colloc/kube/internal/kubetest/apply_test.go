//go:build kube

package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// Manifests reads the objects of a file, or of a folder what its kustomization.yaml lists,
// with its patches.
func Manifests(path string) ([]*unstructured.Unstructured, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return readManifests(path)
	}
	text, err := os.ReadFile(filepath.Join(path, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var k struct {
		Resources []string
		Patches   []struct{ Path string }
	}
	if err := yaml.Unmarshal(text, &k); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []*unstructured.Unstructured
	for _, name := range k.Resources {
		objects, err := Manifests(filepath.Join(path, name))
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	for _, p := range k.Patches {
		patches, err := Manifests(filepath.Join(path, p.Path))
		if err != nil {
			return nil, err
		}
		for _, patch := range patches {
			if err := merge(all, patch); err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Join(path, p.Path), err)
			}
		}
	}
	return all, nil
}

// merge patches that of some objects which a strategic merge patch names.
func merge(all []*unstructured.Unstructured, patch *unstructured.Unstructured) error {
	i := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind() == patch.GroupVersionKind() && o.GetName() == patch.GetName() && o.GetNamespace() == patch.GetNamespace()
	})
	if i < 0 {
		return fmt.Errorf("there is no %s %s to patch", patch.GetKind(), patch.GetName())
	}
	typed, err := scheme.Scheme.New(patch.GroupVersionKind())
	if err != nil {
		return err
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(all[i].Object, patch.Object, typed)
	if err != nil {
		return err
	}
	all[i] = &unstructured.Unstructured{Object: merged}
	return nil
}

func readManifests(path string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	const ahead = 4096
	for d := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), ahead); ; {
		o := &unstructured.Unstructured{}
		switch err := d.Decode(o); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case len(o.Object) > 0:
			all = append(all, o)
		}
	}
}

// Apply creates the objects of a file or a kustomization in their order. A field that the
// API server does not know is an error.
func (c *Cluster) Apply(path string) {
	c.tb.Helper()
	objects, err := Manifests(path)
	if err != nil {
		c.tb.Fatal(err)
	}
	for _, o := range objects {
		if err := c.Create(o); err != nil {
			c.tb.Fatalf("%s: %s %s: %v", path, o.GetKind(), o.GetName(), err)
		}
	}
}

// Create creates an object of any kind.
func (c *Cluster) Create(o *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	to, err := c.resource(o)
	if err != nil {
		return err
	}
	_, err = to.Create(ctx, o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	return err
}

// Delete deletes the objects of a file or a kustomization, the last one first.
func (c *Cluster) Delete(path string) {
	c.tb.Helper()
	objects, err := Manifests(path)
	if err != nil {
		c.tb.Fatal(err)
	}
	for _, o := range slices.Backward(objects) {
		if err := c.remove(o); err != nil {
			c.tb.Fatalf("%s: %s %s: %v", path, o.GetKind(), o.GetName(), err)
		}
	}
}

func (c *Cluster) remove(o *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	to, err := c.resource(o)
	if err != nil {
		return err
	}
	return to.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
}

// resource is where an object is, or would be.
func (c *Cluster) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery()))
	kind := o.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == "namespace" {
		return c.Dynamic.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
	}
	return c.Dynamic.Resource(mapping.Resource), nil
}
