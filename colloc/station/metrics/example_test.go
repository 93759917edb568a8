package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/metrics"
)

// What Prometheus gets of a station where one job waits.
func ExampleHandler() {
	look := func(context.Context) (api.State, error) { // or the State method of an api.Client
		return api.State{Users: []api.User{{Name: "ann", UID: 1000, Count: api.Count{Queued: 1}}}}, nil
	}
	w := httptest.NewRecorder()
	metrics.Handler(look).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, `state="queued"`) {
			fmt.Print(line)
		}
	}
	// Output: colloc_station_jobs{state="queued",uid="1000",user="ann"} 1
}
