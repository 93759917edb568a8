package lint

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	gonum  = "gonum.org/v1/gonum"
	driver = "github.com/NVIDIA/go-nvml"
	xsync  = "golang.org/x/sync"
	bbolt  = "go.etcd.io/bbolt"
)

// An arrow says what the non-test files of a folder may import beside the
// standard library. A name ending in "/..." stands for the folder and all below
// it; names without a dot in front of the first slash are this module's.
type arrow struct {
	dir   string
	allow []string
}

// allowed is ARCHITECTURE's dependency diagram. The longest folder that holds a
// file decides. It repeats the depguard rules of .golangci.yml on purpose: a
// mistake in one of the two globs then shows in the other.
func allowed() []arrow {
	internal, profile := "internal/...", "profile/..."
	predictor := []string{profile, "predict", "predict/internal/..."} // and no other predictor
	models := []string{internal, profile, "predict/...", "packer/...", xsync + "/..."}
	programs := []string{internal, profile, "predict/...", "packer/...", "nvmlx/...", "colloc/...", "gonum.org/v1/...", xsync + "/..."}
	return []arrow{
		{".", nil},
		{"internal", []string{internal}},
		{"internal/golden", []string{"github.com/google/go-cmp/cmp", "internal/race"}},
		{"profile", []string{internal, profile}},
		{"packer", []string{"internal/enum", profile, "packer/mig", "packer/internal/instance"}}, // the language knows no search
		{"packer/mig", []string{profile}},
		{"packer/matching", nil}, // integers
		{"packer/solve", []string{profile, "packer", "packer/internal/..."}},
		{"packer/online", []string{profile, "packer", "packer/solve", "packer/internal/instance", "packer/internal/lifetime", "packer/internal/rollout"}},
		{"packer/internal", []string{profile, "packer/matching", "packer/internal/..."}}, // numbers: no task of the language
		{"packer/internal/instance", []string{profile, "packer/mig"}},
		{"packer/internal/packtest", []string{profile, "packer/..."}},
		{"predict", []string{"internal/enum", profile, "predict/internal/num"}},
		{"predict/memory", predictor},
		{"predict/interference", predictor},
		{"predict/utilization", predictor},
		{"predict/pace", predictor},
		{"predict/internal", []string{"predict/internal/num", gonum + "/..."}}, // mathematics knows no task
		{"predict/internal/footprint", []string{profile}},
		{"predict/internal/corun", []string{profile}},
		{"predict/dataset", []string{profile, "predict/..."}},
		{"predict/learned", []string{profile, "predict/..."}},
		{"predict/pretrained", []string{profile, "predict/..."}},
		{"nvmlx", []string{internal, profile, "nvmlx"}},
		{"nvmlx/gonvml", []string{internal, profile, "nvmlx", driver + "/...", "C"}}, // and nobody else needs a C compiler
		{"colloc", models},
		{"colloc/ledger", []string{"internal/enum", profile, "packer", "colloc"}},
		{"colloc/dispatch", []string{"internal/enum", profile, "packer", "packer/online", "colloc", "colloc/dispatch/..."}},
		{"colloc/advise", []string{"internal/enum", profile, "predict/...", "colloc"}},
		{"colloc/runner/queue", []string{"internal/enum", "profile", "predict", "nvmlx"}}, // words for clients, too
		{"colloc/taskfile", []string{internal, profile, "colloc"}},
		{"colloc/wire", nil},
		{"colloc/decide", []string{"profile", "colloc", "colloc/dispatch", "colloc/taskfile", "colloc/wire"}},
		{"colloc/runner", append(slices.Clone(models), "colloc", "colloc/dispatch", "colloc/ledger", "colloc/runner/...", "nvmlx", "nvmlx/mps", bbolt)},
		{"colloc/internal", []string{"profile", "colloc", "colloc/runner", "colloc/runner/queue", "colloc/taskfile", "nvmlx"}}, // what runner's users have in common
		{"colloc/station", append(slices.Clone(models), "colloc", "colloc/internal/...", "colloc/runner/...", "colloc/station/...", "colloc/decide", "colloc/wire", "nvmlx")},
		{"colloc/station/api", []string{"profile", "nvmlx", "colloc/runner/queue", "colloc/wire", "colloc/station/internal/peer"}},
		{"colloc/station/account", []string{"colloc/runner/queue", "colloc/station/api"}},
		{"colloc/station/metrics", []string{"profile", "colloc/station/api", "github.com/prometheus/..."}},
		{"colloc/station/notify", []string{internal}},
		{"colloc/station/page", []string{"profile", "colloc/station/api"}},
		{"colloc/slurm", append(slices.Clone(models), "colloc", "colloc/advise", "colloc/slurm/...")},
		{"colloc/sim", append(slices.Clone(models), "colloc", "colloc/dispatch", "colloc/sim/...")},
		{"colloc/sim/harness", []string{profile, "colloc", "colloc/ledger", "colloc/sim"}},
		{"colloc/gain", append(slices.Clone(models), "colloc/gain/...", "colloc/sim/...")},
		{"colloc/gain/records", []string{"internal/regular", profile, "colloc/slurm/site"}},
		{"colloc/shadow/follow", []string{profile, "predict/...", "colloc", "colloc/dispatch", "colloc/gain/...", "colloc/shadow/...", "colloc/sim"}},
		{"colloc/shadow/journal", []string{internal, profile}},
		{"colloc/shadow", []string{"internal/plain", profile, "predict", "packer", "colloc", "colloc/dispatch"}},
		{"colloc/cmd", append(slices.Clone(programs), "github.com/spf13/cobra", "golang.org/x/term", "github.com/schollz/progressbar/...", "github.com/prometheus/...")},
		{"examples", append(slices.Clone(programs), "examples/...")},
	}
}

// arrows finds imports against the direction of the data flow.
func arrows(tr *tree) []string {
	var findings []string
	for _, s := range tr.sources {
		if s.test { // a test may use what it likes: importers never compile it
			continue
		}
		a, ok := arrowOf(s.dir)
		if !ok {
			findings = append(findings, tr.at(s.ast.Name, "folder %s has no arrow: say in internal/lint and .golangci.yml what it may import", s.dir))
			continue
		}
		for _, spec := range s.ast.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil || !a.permits(target) {
				findings = append(findings, tr.at(spec, "%s must not import %s", s.dir, target))
			}
		}
	}
	return findings
}

// arrowOf returns the arrow of the longest folder that holds dir.
func arrowOf(dir string) (arrow, bool) {
	var best arrow
	var found bool
	for _, a := range allowed() {
		if below(dir, a.dir) && (!found || len(a.dir) > len(best.dir)) {
			best, found = a, true
		}
	}
	return best, found
}

// permits reports whether the arrow points at an import path.
func (a arrow) permits(target string) bool {
	first, _, _ := strings.Cut(target, "/")
	if !strings.Contains(first, ".") && target != "C" { // the standard library
		return a.dir != "."
	}
	target = strings.TrimPrefix(target, module+"/")
	for _, pattern := range a.allow {
		if dir, tree := strings.CutSuffix(pattern, "/..."); target == dir || tree && below(target, dir) {
			return true
		}
	}
	return false
}

func TestArrows(t *testing.T) {
	file := func(pkg string, imports ...string) string {
		return "package " + pkg + "\n\nimport (\n_ \"" + strings.Join(imports, "\"\n_ \"") + "\"\n)\n"
	}
	testRule(t, arrows, []ruleTest{
		{
			name: "every arrow",
			files: map[string]string{
				"doc.go":                    "package colloc\n",
				"profile/modelfile/a.go":    file("modelfile", "io", module+"/profile", module+"/internal/approx"),
				"packer/a.go":               file("packer", module+"/packer/internal/instance", module+"/profile"),
				"packer/solve/a.go":         file("solve", module+"/packer", module+"/packer/internal/search"),
				"predict/a.go":              file("predict", module+"/predict/internal/num", module+"/profile"),
				"predict/pace/a.go":         file("pace", module+"/predict", module+"/predict/internal/lsq"),
				"predict/internal/lsq/a.go": file("lsq", gonum+"/mat", module+"/predict/internal/num"),
				"nvmlx/gonvml/a.go":         file("gonvml", driver+"/pkg/nvml", module+"/nvmlx", "C"),
				"colloc/a.go":               file("colloc", module+"/predict/pretrained", module+"/packer"),
				"colloc/runner/a.go":        file("runner", module+"/colloc", module+"/nvmlx"),
				"examples/quickstart/a.go":  file("main", module+"/colloc", "gonum.org/v1/plot"),
				"profile/a_test.go":         file("profile_test", module+"/predict"),
			},
		},
		{
			name:  "root imports",
			files: map[string]string{"doc.go": file("colloc", "fmt")},
			want:  []string{"doc.go:4: . must not import fmt"},
		},
		{
			name: "against the arrows",
			files: map[string]string{
				"internal/a/a.go":             file("a", module+"/profile"),
				"profile/a.go":                file("profile", xsync+"/errgroup", module+"/packer"),
				"packer/a.go":                 file("packer", gonum+"/mat"),
				"predict/a.go":                file("predict", module+"/packer", module+"/predict/memory"),
				"predict/memory/a.go":         file("memory", module+"/predict/interference"),
				"predict/internal/trees/a.go": file("trees", module+"/profile"),
				"nvmlx/a.go":                  file("nvmlx", driver+"/pkg/nvml", module+"/nvmlx/gonvml"),
				"nvmlx/gonvml/a.go":           file("gonvml", module+"/colloc"),
				"colloc/a.go":                 file("colloc", module+"/nvmlx", module+"/colloc/runner", "C"),
				"colloc/slurm/a.go":           file("slurm", module+"/colloc/sim"),
				"examples/measure/a.go":       file("main", driver+"/pkg/nvml"),
				"colloc/advise/a.go":          file("advise", module+"/colloc/ledger"),
			},
			want: []string{
				"colloc/a.go:4: colloc must not import " + module + "/nvmlx",
				"colloc/a.go:5: colloc must not import " + module + "/colloc/runner",
				"colloc/a.go:6: colloc must not import C",
				"colloc/advise/a.go:4: colloc/advise must not import " + module + "/colloc/ledger",
				"colloc/slurm/a.go:4: colloc/slurm must not import " + module + "/colloc/sim",
				"examples/measure/a.go:4: examples/measure must not import " + driver + "/pkg/nvml",
				"internal/a/a.go:4: internal/a must not import " + module + "/profile",
				"nvmlx/a.go:4: nvmlx must not import " + driver + "/pkg/nvml",
				"nvmlx/a.go:5: nvmlx must not import " + module + "/nvmlx/gonvml",
				"nvmlx/gonvml/a.go:4: nvmlx/gonvml must not import " + module + "/colloc",
				"packer/a.go:4: packer must not import " + gonum + "/mat",
				"predict/a.go:4: predict must not import " + module + "/packer",
				"predict/a.go:5: predict must not import " + module + "/predict/memory",
				"predict/internal/trees/a.go:4: predict/internal/trees must not import " + module + "/profile",
				"predict/memory/a.go:4: predict/memory must not import " + module + "/predict/interference",
				"profile/a.go:4: profile must not import " + xsync + "/errgroup",
				"profile/a.go:5: profile must not import " + module + "/packer",
			},
		},
		{
			name: "a name that only begins like an allowed one",
			files: map[string]string{
				"packer/a.go": file("packer", module+"/profiler", "gonum.org.evil.example/x"),
			},
			want: []string{
				"packer/a.go:4: packer must not import " + module + "/profiler",
				"packer/a.go:5: packer must not import gonum.org.evil.example/x",
			},
		},
		{
			name:  "a folder nobody thought of",
			files: map[string]string{"scheduler/a.go": "package scheduler\n"},
			want:  []string{"scheduler/a.go:1: folder scheduler has no arrow: say in internal/lint and .golangci.yml what it may import"},
		},
		{
			name: "a nested module is left alone",
			files: map[string]string{
				"examples/kube/go.mod":  "module x\n",
				"examples/kube/main.go": file("main", "k8s.io/api"),
			},
		},
	})
}
