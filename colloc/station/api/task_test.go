package api

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/colloc/colloc/wire"
)

// A submission of too many tasks is refused before there is a task of it.
func TestSubmission(t *testing.T) {
	for n, want := range map[int]error{MaxTasks: nil, MaxTasks + 1: &Error{Code: TooLarge}} {
		body := `{"tasks": [` + strings.Repeat("{},", n-1) + `{}]}`
		var in Submission
		err := wire.Read(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/jobs", strings.NewReader(body)), &in)
		if !errors.Is(err, want) || (want == nil) != (len(in.Tasks) == n) {
			t.Errorf("%d tasks: %v, with %d of them read", n, err, len(in.Tasks))
		}
	}
}
