//go:build kube

package kubetest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// Prometheus' own tool takes the alert rules, and what the board asks as rules.
func TestRules(t *testing.T) {
	text, err := os.ReadFile(deploy + "monitoring/board.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			rules = append(rules, rule{fmt.Sprintf("board:%d", len(rules)), target.Expr})
		}
	}
	text, err = yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "board", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	asRules := filepath.Join(t.TempDir(), "board.yaml")
	if err := os.WriteFile(asRules, text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool := filepath.Join(os.Getenv("COLLOC_KUBE_BIN"), "promtool")
	out, err := exec.Command(promtool, "check", "rules", deploy+"monitoring/alerts.yaml", asRules).CombinedOutput()
	if err != nil || len(rules) == 0 {
		t.Errorf("%d rules of the board: %v: %s", len(rules), err, out)
	}
}
