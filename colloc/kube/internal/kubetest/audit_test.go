//go:build kube

package kubetest

import (
	"bytes"
	"encoding/json"
	"os"
)

// Access is what somebody asked of the API server.
type Access struct {
	// Verb, Group and Resource are as in a rule of RBAC, with the subresource behind a
	// slash.
	Verb, Group, Resource string
	// Code is the answer's.
	Code int
}

// Audited returns how often the service accounts of the manifests asked for what. A watch
// counts once it has ended.
func (c *Cluster) Audited() map[Access]int {
	c.tb.Helper()
	text, err := os.ReadFile(c.audit())
	if err != nil {
		c.tb.Fatal(err)
	}
	seen := make(map[Access]int)
	for line := range bytes.Lines(text) {
		var e struct {
			Verb      string
			ObjectRef struct{ Resource, APIGroup, Subresource string }
			Status    struct{ Code int } `json:"responseStatus"`
		}
		if json.Unmarshal(line, &e) != nil || e.ObjectRef.Resource == "" { // the last line may be half written; /healthz has no resource
			continue
		}
		if e.ObjectRef.Subresource != "" {
			e.ObjectRef.Resource += "/" + e.ObjectRef.Subresource
		}
		seen[Access{e.Verb, e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.Status.Code}]++
	}
	return seen
}
