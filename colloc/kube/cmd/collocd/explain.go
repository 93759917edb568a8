package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/groups"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/kube/profiles"
	"example.com/colloc/colloc/kube/volumes"
	"example.com/colloc/internal/plain"
)

// explain says of one pod what was or would be decided, from what the API server has
// now. It writes nothing there.
func explain(ctx context.Context, f *flags, namespace, name string, out io.Writer) error {
	config, own, err := connect(f.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace = cmp.Or(namespace, own)
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !pods.Ours(pod) {
		return fmt.Errorf("pod %s/%s has no label %s=%s: colloc does not decide about it", namespace, name, api.LabelTask, api.True)
	}
	if err := explainAll(ctx, f, config, client, pod, out); !apierrors.IsForbidden(err) {
		return err
	}
	return explainOwn(pod, out)
}

// explainOwn says what collocd has told a pod, for who may not read the cluster.
func explainOwn(pod *corev1.Pod, out io.Writer) error {
	phase, at := pods.PhaseOf(pod)
	text := fmt.Sprintf("pod %s/%s is %v\n", pod.Namespace, pod.Name, phase)
	if phase == pods.Placed {
		text += fmt.Sprintf("card %s, %v reserved; %v\n", at.GPU(), at.Reserved, at.Limits)
	}
	if said := pods.Said(pod); said != nil {
		text += fmt.Sprintf("told: %s: %s\n", said.Reason, said.Message)
	} else {
		text += "collocd has told it nothing yet\n"
	}
	_, err := io.WriteString(out, plain.Lines(text)+"who may list nodes and all pods is told more\n")
	return err
}

// explainAll says what the whole cluster has to do with a pod.
func explainAll(ctx context.Context, f *flags, config *rest.Config, client kubernetes.Interface, pod *corev1.Pod, out io.Writer) error {
	var known profiles.Store
	var bound groups.Store
	var stored volumes.Store
	all, err := f.books(known.Known, bound.Pods, stored.Refuses)
	if err != nil {
		return err
	}
	if err := stored.Load(ctx, client); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := loadGroups(ctx, config, client, &bound); err != nil {
		return err
	}
	if err := load(ctx, config, client, &known, all); err != nil {
		return err
	}
	all.Open()
	var text strings.Builder // some of it is its user's
	if err := all.Explain(&text, pod.UID); err != nil {
		return err
	}
	_, err = io.WriteString(out, plain.Lines(text.String()))
	return err
}

// loadGroups reads the PodGroups once, if there are any.
func loadGroups(ctx context.Context, config *rest.Config, client kubernetes.Interface, bound *groups.Store) error {
	dynamics, r, err := groupsClient(config, client)
	if err != nil || dynamics == nil {
		return err
	}
	list, err := dynamics.Resource(r).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		bound.Set(&list.Items[i])
	}
	return nil
}

// load reads a cluster once.
func load(ctx context.Context, config *rest.Config, client kubernetes.Interface, known *profiles.Store, all *books.Books) error {
	served, err := profiles.Served(client.Discovery())
	if err != nil {
		return err
	}
	if served {
		dynamics, err := dynamicClient(config)
		if err != nil {
			return err
		}
		list, err := dynamics.Resource(profiles.Resource()).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			known.Set(&list.Items[i])
		}
	}
	if err := loadNodes(ctx, client, all); err != nil {
		return err
	}
	list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		all.SetPod(pods.Needed(&list.Items[i]))
	}
	return nil
}

// loadNodes reads nodes, their devices, and who else has claims on these.
func loadNodes(ctx context.Context, client kubernetes.Interface, all *books.Books) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		all.SetNode(&nodes.Items[i])
	}
	if slices, err := client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{}); err == nil { // before 1.34 there are none
		for i := range slices.Items {
			all.SetSlice(&slices.Items[i])
		}
	}
	if held, err := client.ResourceV1().ResourceClaims("").List(ctx, metav1.ListOptions{}); err == nil {
		for i := range held.Items {
			all.SetClaim(&held.Items[i])
		}
	}
	return nil
}
