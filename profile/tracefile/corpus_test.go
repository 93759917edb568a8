package tracefile

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRealFiles reads the logs and traces in a folder of files of others, which
// COLLOC_REAL names. A failure is a panic, a file read without a sample, a refusal
// whose reason the file itself does not bear out, and a share of busy time that
// differs from a slow union by more than one in a hundred.
//
//	COLLOC_REAL=folder go test ./profile/tracefile -run TestRealFiles -v
func TestRealFiles(t *testing.T) {
	root := os.Getenv("COLLOC_REAL")
	if root == "" {
		t.Skip("COLLOC_REAL names no folder of files")
	}
	for _, category := range []string{"dcgm", "smi_metrics", "smi_sections", "smi_xml", "trace"} {
		paths, err := filepath.Glob(filepath.Join(root, category, "*"))
		if err != nil || len(paths) == 0 {
			t.Errorf("%s: no files: %v", category, err)
		}
		read, refused, worst := 0, 0, 0.0
		for _, path := range paths {
			data := gunzipped(t, path)
			f, err := ReadFile(path, nil)
			if err != nil {
				refused++
				if !bornOut(string(data), err) {
					t.Errorf("%s: the file does not bear out: %v", path, err)
				}
				continue
			}
			read++
			samples := 0
			for i := range f.Traces {
				samples += len(f.Traces[i].Samples)
			}
			if samples == 0 {
				t.Errorf("%s: read without a sample", path)
			}
			if f.Format != Kineto {
				continue
			}
			want := slowBusy(t, data)
			for i := range f.Traces {
				got, ok := f.Traces[i].Samples[0].GPUBusy.Get()
				slow, known := want[f.Traces[i].Labels[LabelGPU]]
				if miss := math.Abs(got - slow); !ok || !known || miss > 0.01 {
					t.Errorf("%s: GPU %s: busy %v, a slow union says %v", path, f.Traces[i].Labels[LabelGPU], got, slow)
				} else {
					worst = max(worst, miss)
				}
			}
			if len(f.Traces) != len(want) {
				t.Errorf("%s: %d GPUs, want %d", path, len(f.Traces), len(want))
			}
		}
		t.Logf("%-12s %3d read, %3d refused, busy share within %.2g", category, read, refused, worst)
	}
}

// bornOut holds the reason of a refusal against the file.
func bornOut(text string, err error) bool {
	reason := err.Error()
	has := func(words ...string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
	switch {
	case strings.Contains(reason, "for people"):
		return has("| NVIDIA-SMI ", "Disp.A")
	case strings.Contains(reason, "nvidia-smi's help"):
		return has("List of valid properties to query")
	case strings.Contains(reason, "an execution trace of PyTorch"):
		return has(`"nodes"`, `"op_schema"`) && !has(`"traceEvents"`)
	case strings.Contains(reason, "no kernel of a GPU"):
		return has(`"traceEvents"`) && !has(`"kernel"`) && !has(`"Kernel"`)
	case strings.Contains(reason, "GPUs that no process used"):
		lines := strings.Split(strings.TrimSpace(text), "\n")
		return !slices.ContainsFunc(lines, func(line string) bool {
			words := strings.Fields(line)
			return line[0] != '#' && (len(words) < 2 || words[1] != "-")
		})
	case strings.Contains(reason, "a header and no row"):
		return errors.Is(err, ErrEmpty) && strings.Count(strings.TrimSpace(text), "\n") == 0 && has(",")
	}
	return false
}

func gunzipped(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return data
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return data
}

// slowBusy is the share of time in which each GPU with a kernel did something: a
// million moments are painted one by one.
func slowBusy(t *testing.T, data []byte) map[string]float64 {
	t.Helper()
	var doc struct{ TraceEvents []map[string]any }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	const moments = 1_000_000
	type did struct {
		gpu        string
		begin, end float64
	}
	var all []did
	kernels := map[string]bool{}
	begin, end := math.Inf(1), math.Inf(-1)
	for _, e := range doc.TraceEvents {
		category, _ := e["cat"].(string)
		category = strings.ToLower(category)
		args, _ := e["args"].(map[string]any)
		gpu, onGPU := args["device"].(float64)
		ts, dur := decimal(e["ts"]), decimal(e["dur"])
		if e["ph"] != "X" || !onGPU || math.IsNaN(ts+dur) || !slices.Contains([]string{"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}, category) {
			continue
		}
		d := did{strconv.Itoa(int(gpu)), ts, ts + dur}
		kernels[d.gpu] = kernels[d.gpu] || category == "kernel"
		begin, end = min(begin, d.begin), max(end, d.end)
		all = append(all, d)
	}
	busy := map[string]float64{}
	for gpu, kernel := range kernels {
		if !kernel {
			continue
		}
		painted := make([]bool, moments)
		for _, d := range all {
			first, last := (d.begin-begin)/(end-begin)*moments, (d.end-begin)/(end-begin)*moments
			for i := int(math.Ceil(first)); d.gpu == gpu && float64(i) < last && i < moments; i++ {
				painted[i] = true
			}
		}
		n := 0
		for _, p := range painted {
			if p {
				n++
			}
		}
		busy[gpu] = float64(n) / moments
	}
	return busy
}

// decimal is a number of a trace, which may stand in quotes; NaN if it is none.
func decimal(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case string:
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return f
		}
	}
	return math.NaN()
}
