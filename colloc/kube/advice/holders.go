package advice

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/prom"
)

// Why pods that hold GPUs are not judged.
const (
	severalGPUs = "take several GPUs"
	migInstance = "have a MIG instance"
	replicas    = "share a GPU by the device plugin's time-slicing already"
	noGPU       = "are on a node whose labels do not tell its GPU; GPU feature discovery writes them"
	unseen      = "were not seen by dcgm-exporter; it has to name pods, DCGM_EXPORTER_KUBERNETES=true"
	unmeasured  = "have no counter that tells how busy they are, or none of their memory"
	tooLarge    = "take more memory than a GPU has with the usual headroom"
)

// holder is a pod that has a GPU to itself.
type holder struct {
	pod  *corev1.Pod
	gpu  colloc.GPU
	task colloc.Task
}

// pageSize is how many pods are read in one request.
const pageSize = 500

// holders lists the pods that hold a whole GPU each, and counts in the report all that hold GPUs.
func holders(ctx context.Context, client kubernetes.Interface, r *Report) ([]holder, error) {
	gpus, err := products(ctx, client)
	if err != nil {
		return nil, err
	}
	var list []holder
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.CoreV1().Pods("").List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			pod := &page.Items[i]
			asks := nodes.Requests(pod)
			whole, sliced := asks["nvidia.com/gpu"], int64(0)
			for name, n := range asks {
				if strings.HasPrefix(string(name), "nvidia.com/mig-") {
					sliced += n
				}
			}
			if pod.Status.Phase != corev1.PodRunning || whole+sliced == 0 {
				continue
			}
			r.Pods, r.GPUs = r.Pods+1, r.GPUs+int(whole)
			at, known := gpus[pod.Spec.NodeName]
			switch {
			case sliced > 0 || at.gpu.Slice != nil:
				r.leave(migInstance)
			case whole > 1:
				r.leave(severalGPUs)
			case !known:
				r.leave(noGPU)
			case at.replicas:
				r.leave(replicas)
			default:
				list = append(list, holder{pod: pod, gpu: at.gpu})
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	slices.SortFunc(list, func(a, b holder) int { return strings.Compare(name(a.pod), name(b.pod)) })
	return list, nil
}

// offer is a GPU of a node, which has several of one product.
type offer struct {
	gpu      colloc.GPU
	replicas bool
}

// products are the GPUs of the nodes, by name.
func products(ctx context.Context, client kubernetes.Interface) (map[string]offer, error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var reader nodes.Reader
	all := map[string]offer{}
	for i := range list.Items {
		n := &list.Items[i]
		cards, _ := reader.Cards(n, nil)
		if len(cards) > 0 {
			again := n.Labels["nvidia.com/gpu.replicas"]
			all[n.Name] = offer{cards[0].GPU, again != "" && again != "0" && again != "1"}
		}
	}
	return all, nil
}

func name(pod *corev1.Pod) prom.Name { return pod.Namespace + "/" + pod.Name }
