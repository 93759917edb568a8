package decide_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/decide"
)

func ExampleHandler() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := decide.Handler(decide.Config{Planner: planner})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/best", strings.NewReader(`{
		"task": {"id": "new", "training": {"batch_size": 32}, "reserved": "10GiB"},
		"gpus": [
			{"id": "0", "model": "A100-40GB", "residents": [{"id": "old", "training": {"batch_size": 32}, "reserved": "30GiB"}]},
			{"id": "1", "model": "A100-40GB"}
		]
	}`)))
	var answer decide.BestAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*answer.GPU, answer.Text)
	// Output: 1 fits: speed 1.00, reserves 10 GiB of 36 GiB free
}
