package prom_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"example.com/colloc/colloc/kube/prom"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"scalar","result":[0,"12.5"]}}`)
	}))
	defer server.Close()
	p := prom.Server{URL: server.URL}
	rate, err := p.One(context.Background(), `scalar(sum(rate(steps_total{pod="train-0"}[1m])))`)
	fmt.Println(rate, err)
	// Output: 12.5 <nil>
}
