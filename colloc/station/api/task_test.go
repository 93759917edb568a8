package api

import (
	"errors"
	"fmt"
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

// Tasks in a row with the same environment have it in memory once; an environment of its own
// stays one.
func TestEnvironments(t *testing.T) {
	body := `{"tasks": [{"env": ["A=1"]}, {"env": ["A=1"]}, {"env": ["A=2"]}, {}, {"env": ["A=2"]}]}`
	var in Submission
	if err := wire.Read(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/jobs", strings.NewReader(body)), &in); err != nil || len(in.Tasks) != 5 {
		t.Fatalf("%+v, %v", in, err)
	}
	for i, want := range []string{"[A=1]", "[A=1]", "[A=2]", "[]", "[A=2]"} {
		if got := fmt.Sprint(in.Tasks[i].Env); got != want {
			t.Errorf("task %d has %s, want %s", i, got, want)
		}
	}
	if &in.Tasks[0].Env[0] != &in.Tasks[1].Env[0] {
		t.Error("one environment is there twice")
	}
}
