package deploy_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"
)

// folder is .Files of a chart.
type folder struct{ t *testing.T }

// Get returns a file.
func (f folder) Get(name string) string { return string(read(f.t, name)) }

// helm has those of Helm's functions that the chart uses, as Helm documents them.
var helm = template.FuncMap{
	"list":      func(x ...any) []any { return x },
	"append":    func(l []any, x any) []any { return append(slices.Clip(l), x) },
	"splitList": func(sep, s string) []string { return strings.Split(s, sep) },
	"contains":  func(part, s string) bool { return strings.Contains(s, part) },
	"hasPrefix": func(part, s string) bool { return strings.HasPrefix(s, part) },
	"replace":   func(from, to, s string) string { return strings.ReplaceAll(s, from, to) },
	"int": func(x any) int {
		f, _ := x.(float64)
		return int(f)
	},
	"mul": func(x, y int) int { return x * y },
	"div": func(x, y int) int { return x / y },
	"join": func(sep string, l []any) string {
		var parts []string
		for _, x := range l {
			s, _ := x.(string)
			parts = append(parts, s)
		}
		return strings.Join(parts, sep)
	},
}

// objects parses documents.
func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for doc := range strings.SplitSeq("\n"+text, "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if len(o) > 0 {
			all = append(all, o)
		}
	}
	return all
}

// rendered is what Helm would apply in a namespace with some values changed.
func rendered(t *testing.T, namespace string, change map[string]any) []map[string]any {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal(read(t, "values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	for name, x := range change {
		if _, known := values[name]; !known {
			t.Fatalf("values.yaml has no %s", name)
		}
		values[name] = x
	}
	files, err := filepath.Glob("templates/*")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	tmpl, err := template.New("collocd.yaml").Option("missingkey=error").Funcs(helm).ParseFiles(files...)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := tmpl.Execute(&out, map[string]any{"Values": values, "Release": map[string]any{"Namespace": namespace}, "Files": folder{t}}); err != nil {
		t.Fatal(err)
	}
	return objects(t, out.String())
}

// manifests are those of files, but for the namespace, which Helm makes.
func manifests(t *testing.T, names ...string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, name := range names {
		all = append(all, objects(t, string(read(t, name)))...)
	}
	return slices.DeleteFunc(all, func(o map[string]any) bool { return o["kind"] == "Namespace" })
}

// in finds what is at a path of keys and indices.
func in(t *testing.T, o any, path ...any) any {
	t.Helper()
	for _, p := range path {
		switch at := p.(type) {
		case string:
			m, _ := o.(map[string]any)
			o = m[at]
		case int:
			l, _ := o.([]any)
			if at >= len(l) {
				t.Fatalf("%v has no %d", o, at)
			}
			o = l[at]
		}
	}
	return o
}

// deployment finds collocd's container.
func deployment(t *testing.T, all []map[string]any) (spec, container any) {
	t.Helper()
	at := slices.IndexFunc(all, func(o map[string]any) bool { return o["kind"] == "Deployment" })
	if at < 0 {
		t.Fatal("there is no Deployment")
	}
	return all[at]["spec"], in(t, all[at], "spec", "template", "spec", "containers", 0)
}

// The chart is the manifests: as it is they are those of gate, but for what a value says.
func TestChart(t *testing.T) {
	base := []string{"base/profiles.yaml", "base/rbac.yaml", "base/policies.yaml", "base/collocd.yaml"}
	got, want := rendered(t, "colloc-system", nil), manifests(t, append(base, "gate/policy.yaml")...)
	if len(got) != len(want) {
		t.Fatalf("%d objects, want %d", len(got), len(want))
	}
	for i := range want {
		switch got[i]["kind"] {
		case "CustomResourceDefinition": // whoever takes the chart away keeps the Profiles
			meta, _ := in(t, got[i], "metadata").(map[string]any)
			if in(t, meta, "annotations", "helm.sh/resource-policy") != "keep" {
				t.Error("the Profiles go with the chart")
			}
			delete(meta, "annotations")
		case "Deployment":
			_, c := deployment(t, got)
			container, _ := c.(map[string]any)
			args, _ := container["args"].([]any)
			container["args"] = slices.DeleteFunc(args, func(a any) bool { return a == "--binding=annotate" }) // the default
			resources, _ := in(t, container, "resources", "limits").(map[string]any)
			if resources["memory"] != "1024Mi" || !strings.Contains(string(read(t, "base/collocd.yaml")), "memory: 1Gi") {
				t.Errorf("memory is limited to %v", resources)
			}
			resources["memory"] = "1Gi"
			env, _ := in(t, container, "env", 1).(map[string]any)
			if env["value"] != "921MiB" {
				t.Errorf("GOMEMLIMIT is %v", env)
			}
			env["value"] = "900MiB"
		}
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%v %v is\n%v\nwant\n%v", got[i]["kind"], in(t, got[i], "metadata", "name"), got[i], want[i])
		}
	}
}

// Each value changes what it says, and brings the rights that it needs and no others.
func TestValues(t *testing.T) {
	roles := func(all []map[string]any) string {
		var names []string
		for _, o := range all {
			if o["kind"] == "ClusterRole" || o["kind"] == "MutatingAdmissionPolicy" {
				name, _ := in(t, o, "metadata", "name").(string)
				names = append(names, name)
			}
		}
		return strings.Join(names, " ")
	}
	const usual = "collocd colloc-edit colloc-view"
	for _, tt := range []struct {
		name  string
		set   map[string]any
		roles string
		args  string // among the others
	}{
		{"before 1.36", map[string]any{"gate": false}, usual, "--preempt=0"},
		{"claims", map[string]any{"binding": "claim"}, usual + " colloc-gate collocd-claims", "--binding=claim"},
		{"preempts", map[string]any{"preempt": 8.0}, usual + " colloc-gate collocd-evict", "--preempt=8"},
		{"looks", map[string]any{"prometheus": "http://p:9090"}, usual + " colloc-gate collocd-observe", "--prometheus=http://p:9090 --alarm=report"},
		{"looks and evicts", map[string]any{"prometheus": "http://p:9090", "alarm": "evict"}, usual + " colloc-gate collocd-evict collocd-observe", "--alarm=evict"},
		{"more", map[string]any{"args": []any{"--share=a+b", "--gpus=team=8"}, "replicas": 1.0, "image": "r.example/c:v1"}, usual + " colloc-gate", "--share=a+b --gpus=team=8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := rendered(t, "elsewhere", tt.set)
			if got := roles(all); got != tt.roles {
				t.Errorf("roles %q, want %q", got, tt.roles)
			}
			spec, container := deployment(t, all)
			var args []string
			list, _ := in(t, container, "args").([]any)
			for _, a := range list {
				s, _ := a.(string)
				args = append(args, s)
			}
			if !strings.Contains(strings.Join(args, " "), tt.args) || !slices.Contains(args, "--lease-namespace=elsewhere") || !slices.Contains(args, "--leader-elect") {
				t.Errorf("arguments %q, want %q among them", args, tt.args)
			}
			if tt.set["image"] != nil && (in(t, container, "image") != tt.set["image"] || in(t, spec, "replicas") != tt.set["replicas"]) {
				t.Errorf("image %v, %v replicas", in(t, container, "image"), in(t, spec, "replicas"))
			}
			for _, o := range all {
				if ns := in(t, o, "metadata", "namespace"); ns != nil && ns != "elsewhere" {
					t.Errorf("%v is in namespace %v", o["kind"], ns)
				}
				subjects, _ := o["subjects"].([]any)
				for _, s := range subjects {
					if in(t, s, "namespace") != "elsewhere" {
						t.Errorf("%v is for %v", o["kind"], s)
					}
				}
			}
		})
	}
}

// What Helm leaves out of the chart is nothing that the template reads.
func TestIgnored(t *testing.T) {
	text, err := os.ReadFile(".helmignore")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"base/", "gate/policy.yaml", "claims/rbac.yaml", "evict/rbac.yaml", "observe/rbac.yaml", "templates/"} {
		if slices.Contains(strings.Fields(string(text)), name) {
			t.Errorf("%s is left out", name)
		}
	}
}
