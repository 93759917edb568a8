package station

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/colloc/wire"
)

// FuzzSubmission: whatever a user sends, its tasks are that user's and within the bounds of package api, or it is refused.
func FuzzSubmission(f *testing.F) {
	for _, text := range []string{
		`{"tasks":[{"command":["true"],"dir":"/"}]}`,
		`{"tasks":[{"command":["a b","\u0000"],"dir":"/x","env":["A=b"],"umask":63,"limits":{"core":{"soft":1,"hard":-1}},"gpus":2,"memory":"3GiB","alone":true,"max_slowdown":1.5,"cpus":3,"time":"1h","class":"low","after":[{"task":"#1","any":true}],"retries":1000,"restart":"1m","held":true,"progress":{"pattern":"(?P<step>[0-9]+)"}}]}`,
		`{"tasks":[],"tasks":[{"name":"\u202e","kind":"<b>","shell":true,"class":"high"}]}`,
	} {
		f.Add(text)
	}
	s := &Station{config: Config{Everybody: true}, learner: solo.NewLearner(solo.Learning{}, nil)}
	f.Fuzz(func(t *testing.T, body string) {
		var in api.Submission
		if wire.Read(httptest.NewRequest(http.MethodPost, "/v1/jobs", strings.NewReader(body)), &in) != nil {
			return
		}
		for i := range in.Tasks {
			task, fault := s.task(&in.Tasks[i], peer.User{UID: 7, GID: 8})
			if fault != nil {
				if fault.Where == "" || fault.What == "" {
					t.Fatalf("%q is refused without a reason: %+v", body, fault)
				}
				continue
			}
			if task.Owner == nil || task.Owner.UID != 7 || task.Owner.GID != 8 || task.Owner.Groups != nil || task.Priority > 0 || task.Retries > api.MaxRetries || !plain(task.Name) || task.ID != "" {
				t.Fatalf("%q is taken as %+v of %+v", body, task, task.Owner)
			}
		}
	})
}
