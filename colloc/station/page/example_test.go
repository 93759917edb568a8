package page_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/page"
)

// The page of a station where nothing happens.
func ExampleHandler() {
	look := func(context.Context) (api.State, error) { return api.State{}, nil } // or the State method of an api.Client
	w := httptest.NewRecorder()
	page.Handler(look).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "<h1>0 running, 0 waiting</h1>"))
	// Output: 200 true
}
