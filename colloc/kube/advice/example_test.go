package advice_test

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/kubernetes/fake"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/advice"
	"example.com/colloc/colloc/kube/prom"
)

func Example() {
	planner, err := colloc.New(colloc.Config{MaxSet: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = advice.New(context.Background(), advice.Config{
		Client: fake.NewClientset(), Prometheus: &prom.Server{URL: "http://127.0.0.1:1"}, Planner: planner,
	})
	fmt.Println(err != nil) // nobody answers there
	r := &advice.Report{Pods: 2, GPUs: 2, Judged: 2}
	if err := r.Write(os.Stdout, 10); err != nil {
		fmt.Println(err)
	}
	// Output:
	// true
	// 2 pods hold 2 GPUs. By what DCGM saw in 0s, 2 of them could be judged.
	// No two of them are predicted to gain by sharing a GPU.
}
