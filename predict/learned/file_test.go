package learned_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/learned"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

func net(name string) *profile.Profile {
	return &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: name}, Training: profile.Training{BatchSize: 8}}}
}

// taught are models without data that saw one task a few times.
func taught(tb testing.TB) learned.Models {
	tb.Helper()
	m := learned.Models{Memory: &memory.Predictor{}, Interference: &interference.Predictor{}, Pace: &pace.Predictor{}}
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	for range 3 {
		must(m.Memory.Observe(memory.Observation{Spec: net("a").Spec, Peak: 5 * profile.GiB}))
		must(m.Pace.Observe(pace.Observation{Profile: net("a"), GPU: profile.GPUModel{Name: "T4"}, Throughput: 100}))
		must(m.Interference.Observe(interference.Observation{
			GPU: "T4", Mechanism: profile.TimeSlice, Set: []*profile.Profile{net("a"), net("b"), nil},
			Speeds: []profile.Opt[float64]{profile.Some(0.5), {}, {}},
		}))
	}
	return m
}

func saved(tb testing.TB, m learned.Models) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := m.Save(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestSaveLoad: a loaded model tells the same and saves the same bytes; a clone learns
// alone.
func TestSaveLoad(t *testing.T) {
	m := taught(t)
	file := saved(t, m)
	back, err := learned.Load(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	want := m.Of(net("a"))
	if got := back.Of(net("a")); got.String() != want.String() || len(got.Speeds) != 1 || len(got.Throughputs) != 1 || got.Speeds[0].CoRuns != 3 {
		t.Errorf("loaded:\n%vwant:\n%v", got, want)
	}
	if !bytes.Equal(saved(t, back), file) {
		t.Error("a loaded model saves other bytes")
	}
	clone := m.Clone()
	if err := clone.Memory.Observe(memory.Observation{Spec: net("a").Spec, Peak: 9 * profile.GiB}); err != nil {
		t.Fatal(err)
	}
	if m.Of(net("a")).Memory != want.Memory || clone.Of(net("a")).Memory == want.Memory {
		t.Error("a clone does not learn alone")
	}
}

// TestTaskString: a person reads what was learned, and nothing that was not.
func TestTaskString(t *testing.T) {
	seen := learned.Task{Type: "net"}
	for _, step := range []struct {
		learn func()
		want  string
	}{
		{func() {}, "net\n"},
		{func() { seen.Memory = memory.Seen{Least: 1} }, "net\n  memory: at least 1 B is reserved\n"},
		{func() { seen.Memory = memory.Seen{Least: 2 * profile.GiB, Reached: 2 * profile.GiB} }, "net\n  memory: at least 2 GiB is reserved, died with 2 GiB\n"},
		{
			func() { seen.Memory = memory.Seen{Least: 1, Peak: 1, Raised: 3, Runs: 1, Factor: 0.5} },
			"net\n  memory: at least 1 B is reserved, measured peak 1 B, raised after a death to 3 B; predictions of its model times 0.5 after 1 runs\n",
		},
		{
			func() { seen.Memory = memory.Seen{Runs: 2, Factor: 1.5} },
			"net\n  memory: at least 0 B is reserved; predictions of its model times 1.5 after 2 runs\n",
		},
		{
			func() {
				seen.Memory = memory.Seen{}
				seen.Speeds = []interference.Seen{{GPU: "T4", Mechanism: profile.MPS, CoRuns: 3, Own: 0.25, Others: -0.1}}
				seen.Throughputs = []pace.Seen{{GPU: "T4", Throughput: 100, Runs: 2}}
			},
			"net\n  T4, mps: 3 co-runs; beyond its use it loses 0.250, each neighbour -0.100\n  T4 alone: throughput 100 in 2 runs\n",
		},
	} {
		if step.learn(); seen.String() != step.want {
			t.Errorf("got\n%swant\n%s", seen.String(), step.want)
		}
	}
	if got := taught(t).Of(nil); got.Memory.Factor != 1 || got.Type != "" {
		t.Errorf("of nobody: %+v", got)
	}
}

// TestOfMeasured: a task without a name is known by the peak that was measured of it.
func TestOfMeasured(t *testing.T) {
	m := taught(t)
	nameless := net("")
	if err := nameless.Vector.Set(profile.PeakMemory, float64(4*profile.GiB)); err != nil {
		t.Fatal(err)
	}
	if err := m.Memory.Observe(memory.Observation{Spec: nameless.Spec, Known: 4 * profile.GiB, Peak: 6 * profile.GiB}); err != nil {
		t.Fatal(err)
	}
	if got := m.Of(nameless).Memory.Peak; got != 6*profile.GiB {
		t.Errorf("peak %v, want 6 GiB", got)
	}
}

// TestMissingPredictor: models of which one is missing are neither saved nor loaded.
func TestMissingPredictor(t *testing.T) {
	whole := taught(t)
	for name, m := range map[string]learned.Models{
		"memory": {Interference: whole.Interference, Pace: whole.Pace}, "interference": {Memory: whole.Memory, Pace: whole.Pace},
		"pace": {Memory: whole.Memory, Interference: whole.Interference},
	} {
		if err := m.Save(io.Discard); err == nil {
			t.Errorf("saved without %s", name)
		}
	}
}

// TestSections: a file has the three sections, once each and no other; what stands
// behind a predictor within its section is passed over.
func TestSections(t *testing.T) {
	whole := taught(t)
	parts := map[string]string{"other": "{}"}
	for name, save := range map[string]func(io.Writer) error{"memory": whole.Memory.Save, "interference": whole.Interference.Archive, "pace": whole.Pace.Save} {
		var b bytes.Buffer
		if err := save(&b); err != nil {
			t.Fatal(err)
		}
		parts[name], parts[name+"+"] = b.String(), b.String()+strings.Repeat(" ", 10_000)
	}
	for list, want := range map[string]bool{
		"memory interference pace": true, "pace interference memory": true, "memory+ interference pace+": true,
		"memory interference": false, "memory pace": false, "interference pace": false, "memory": false, "interference": false, "pace": false,
		"memory interference pace other": false, "other memory interference pace": false, "memory interference pace memory": false,
	} {
		var sections, bodies []string
		for name := range strings.FieldsSeq(list) {
			sections = append(sections, fmt.Sprintf(`{"name":%q,"bytes":%d}`, strings.TrimSuffix(name, "+"), len(parts[name])))
			bodies = append(bodies, parts[name])
		}
		file := fmt.Sprintf(`{"format":"colloc learned","version":1,"sections":[%s]}`+"\n%s", strings.Join(sections, ","), strings.Join(bodies, ""))
		if m, err := learned.Load(strings.NewReader(file)); (err == nil) != want || !want && m != (learned.Models{}) {
			t.Errorf("%s: %v; loaded should be %v", list, err, want)
		}
	}
}

// TestLoadFaults: what is no whole file is none at all.
func TestLoadFaults(t *testing.T) {
	file := string(saved(t, taught(t)))
	first, rest, _ := strings.Cut(file, "\n")
	for name, text := range map[string]string{
		"empty":           "",
		"no line":         first,
		"long line":       strings.Repeat(" ", 5000) + file,
		"no JSON":         "{\n",
		"another format":  strings.Replace(file, "colloc learned", "colloc pace", 1),
		"a later version": strings.Replace(file, `"version":1`, `"version":2`, 1),
		"half":            file[:len(file)/2],
		"a byte short":    file[:len(file)-1],
		"a byte long":     file + "\n",
		"a section twice": strings.Replace(file, `"name":"pace"`, `"name":"memory"`, 1),
		"another section": strings.Replace(file, `"name":"pace"`, `"name":"mace"`, 1),
		"none":            `{"format":"colloc learned","version":1}` + "\n",
		"a huge section":  strings.Replace(first, `"bytes":`, `"bytes":9999999`, 1) + "\n" + rest,
	} {
		if m, err := learned.Load(strings.NewReader(text)); err == nil || m != (learned.Models{}) {
			t.Errorf("%s: %+v, error %v; want an error and nothing", name, m, err)
		}
	}
	if err := (learned.Models{}).Save(io.Discard); err == nil {
		t.Error("no models: saved")
	}
	broken := errors.New("broken")
	if _, err := learned.Load(io.MultiReader(strings.NewReader(file), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a reader that fails at the end: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// FuzzLoad reads anything; what is accepted can be asked, taught and saved.
func FuzzLoad(f *testing.F) {
	f.Add(saved(f, taught(f)))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := learned.Load(bytes.NewReader(data))
		if err != nil {
			return
		}
		_ = m.Of(net("a")).String()
		gpu := profile.GPUModel{Name: "T4"}
		speeds, err := m.Interference.Values(&gpu, profile.TimeSlice, []*profile.Profile{net("a"), net("b")}, nil)
		if err != nil || !(speeds[0] >= 0 && speeds[0] <= 1) {
			t.Errorf("speeds %v, error %v", speeds, err)
		}
		if err := m.Pace.Observe(pace.Observation{Profile: net("a"), GPU: gpu, Throughput: 1}); err != nil {
			t.Error(err)
		}
		if _, err := m.Memory.Peak(&net("a").Spec, predict.Host{}); err != nil {
			t.Error(err)
		}
		_ = saved(t, m)
	})
}
