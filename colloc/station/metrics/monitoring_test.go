package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/colloc/colloc/station/metrics"
)

// deploy has what is to be installed beside a station.
const deploy = "../deploy/"

// Every metric that the alerts and the board ask for is one that the station has, and
// the board shows every one. Where it is installed, promtool reads all of it.
func TestMonitoring(t *testing.T) {
	known, shown := make(map[string]bool), make(map[string]bool)
	for _, name := range metrics.Names() {
		known[name] = true
	}
	board, alerts := boardExprs(t), alertExprs(t)
	for _, expr := range append(board, alerts...) {
		names := regexp.MustCompile(`colloc_\w+`).FindAllString(expr, -1)
		if len(names) == 0 || strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
			t.Errorf("%s: no metric, or a bracket is not closed", expr)
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s: the station has no metric %s", expr, name)
			}
		}
	}
	for _, name := range regexp.MustCompile(`colloc_\w+`).FindAllString(strings.Join(board, "\n"), -1) {
		shown[name] = true
	}
	for name := range known {
		if !shown[name] {
			t.Errorf("the board does not show %s", name)
		}
	}
	promtool(t, board)
}

// promtool has Prometheus' own tool read the alerts, and what the board asks as rules.
func promtool(t *testing.T, board []string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed: the expressions were not parsed")
		return
	}
	var rules strings.Builder
	rules.WriteString("groups:\n- name: board\n  rules:\n")
	for i, expr := range board {
		fmt.Fprintf(&rules, "  - record: board:%d\n    expr: %q\n", i, strings.ReplaceAll(expr, "$__range", "1d"))
	}
	file := filepath.Join(t.TempDir(), "board.yaml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "check", "rules", deploy+"alerts.yaml", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func boardExprs(t *testing.T) (exprs []string) {
	t.Helper()
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(read(t, "board.json")), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			exprs = append(exprs, target.Expr)
		}
	}
	return exprs
}

// alertExprs reads the rules, each of which has its expression on one line.
func alertExprs(t *testing.T) (exprs []string) {
	t.Helper()
	text := read(t, "alerts.yaml")
	for _, m := range regexp.MustCompile(`(?m)^    expr: (.+)$`).FindAllStringSubmatch(text, -1) {
		exprs = append(exprs, m[1])
	}
	if n := strings.Count(text, "- alert: "); n == 0 || n != len(exprs) {
		t.Errorf("%d alerts with %d expressions of one line", n, len(exprs))
	}
	return exprs
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(deploy + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
