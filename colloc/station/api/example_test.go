package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.com/colloc/colloc/station/api"
)

// What is sent is JSON; where no station runs the error says what to do.
func Example() {
	text, err := json.Marshal(api.Submission{Tasks: []api.Task{{Command: []string{"python", "train.py"}, Dir: "/data/ann", Memory: 8 << 30}}})
	fmt.Println(string(text), err)
	_, err = api.NewClient("/nowhere/station.sock").State(context.Background())
	fmt.Println(errors.Is(err, &api.Error{Code: api.Unavailable}), err)
	// Output:
	// {"tasks":[{"command":["python","train.py"],"dir":"/data/ann","memory":8589934592}]} <nil>
	// true /nowhere/station.sock: no station runs here; start one with: colloc station serve, or name its socket in COLLOC_STATION
}
