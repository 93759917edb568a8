package deploy_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"example.com/colloc/colloc/kube/metrics"
)

// names collects what is registered.
type names struct {
	prometheus.Registerer
	known map[string]bool
}

var fqName = regexp.MustCompile(`fqName: "([^"]+)"`)

func (n *names) Register(c prometheus.Collector) error {
	ch := make(chan *prometheus.Desc)
	go func() {
		defer close(ch)
		c.Describe(ch)
	}()
	for d := range ch {
		n.known[fqName.FindStringSubmatch(d.String())[1]] = true
	}
	return nil
}

// Every metric that the alerts and the board ask for is one that collocd has, and the
// board shows every one.
func TestMonitoring(t *testing.T) {
	has := &names{known: make(map[string]bool)}
	if _, err := metrics.New(has, func() metrics.State { return metrics.State{} }); err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool)
	for _, expr := range append(boardExprs(t), alertExprs(t)...) {
		for _, name := range regexp.MustCompile(`colloc_[a-z_]+`).FindAllString(expr, -1) {
			if name = strings.TrimSuffix(name, "_bucket"); !has.known[name] {
				t.Errorf("%s: collocd has no metric %s", expr, name)
			}
			shown[name] = true
		}
	}
	for name := range has.known {
		if !shown[name] {
			t.Errorf("nobody shows %s", name)
		}
	}
}

func boardExprs(t *testing.T) []string {
	t.Helper()
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(read(t, "monitoring/board.json"), &board); err != nil {
		t.Fatal(err)
	}
	var exprs []string
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			exprs = append(exprs, target.Expr)
		}
	}
	return exprs
}

func alertExprs(t *testing.T) []string {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []struct{ Expr string } }
	}
	if err := yaml.Unmarshal(read(t, "monitoring/alerts.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	var exprs []string
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			exprs = append(exprs, r.Expr)
		}
	}
	return exprs
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
