//go:build kube

package kubetest_test

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/internal/kubetest"
)

// Asked about a cluster of 500 pods that have GPUs by the device plugin, collocd advise names sets of them,
// and the API server has written down nothing of it but reads.
func TestAdvise(t *testing.T) {
	t.Parallel()
	const n = 500
	program := collocd(t)
	c := kubetest.Start(t, kubetest.Options{RBAC: true})
	c.AddNodes(kubetest.Nodes(63, "gpu", a100)...)
	c.Apply(deploy + "advise")
	exporter, url := c.Prometheus()
	series := make(map[string]float64)
	for i := range n {
		labels := fmt.Sprintf("{UUID=\"GPU-%d\",namespace=\"default\",pod=\"p-%d\"}", i, i)
		series["DCGM_FI_DEV_GPU_UTIL"+labels] = []float64{25, 95}[i%2]
		series["DCGM_FI_DEV_FB_USED"+labels] = []float64{4000, 12000}[i%2]
	}
	exporter.Set(series)
	c.Many(n, func(ctx context.Context, i int) error {
		p := plain(fmt.Sprintf("p-%d", i))
		p.Spec.NodeName = fmt.Sprintf("gpu-%d", i/8)
		if _, err := c.Client.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := c.Client.CoreV1().Pods("default").Patch(ctx, p.Name, types.MergePatchType, []byte(`{"status": {"phase": "Running"}}`), metav1.PatchOptions{}, "status")
		return err
	})
	kubeconfig := c.KubeconfigAs(c.Server, token(t, c, "colloc-advise", "advise"))
	var text []byte
	var err error
	if !c.Try(func() bool { // until Prometheus has scraped
		text, err = exec.Command(program, "advise", "--kubeconfig="+kubeconfig, "--prometheus="+url, "--most=3").CombinedOutput()
		return err == nil && strings.Contains(string(text), "sets of them could share")
	}) || !strings.Contains(string(text), "500 pods hold 500 GPUs. By what DCGM saw in 24h0m0s, 500 of them") {
		t.Fatalf("%v: %s", err, text)
	}
	t.Logf("\n%s", text)
	asked := 0
	for a, times := range c.Audited() {
		if a.Verb != "list" || a.Code != http.StatusOK || a.Resource != "pods" && a.Resource != "nodes" {
			t.Errorf("%d times: %+v", times, a)
		}
		asked += times
	}
	if asked < 2 { // nodes and pods
		t.Errorf("the audit log has %d of its reads", asked)
	}
}
