package tracefile_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile"
	"example.com/colloc/profile/tracefile"
)

const dmon = `# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk     fb
# Idx      W      C      C      %      %      %      %    MHz    MHz     MB
    0    150     45      -     78     33      0      0   1215   1410   1024
    0    152     45      -     82     35      0      0   1215   1410   1100
`

func ExampleRead() {
	f, err := tracefile.Read(strings.NewReader(dmon), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range f.Traces {
		fmt.Println(f.Format, t.Labels[tracefile.LabelGPU], len(t.Samples))
		for _, s := range t.Samples {
			fmt.Println(s.GPUBusy, s.MemBusy, s.MemUsed, s.PowerWatts, s.SMActive)
		}
	}
	// Output:
	// table 0 2
	// 0.78 0.33 1 GiB 150 missing
	// 0.82 0.35 1.07 GiB 152 missing
}

func ExampleReadFile() {
	dir, err := os.MkdirTemp("", "tracefile")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "gpu.csv")
	text := "timestamp, index, utilization.gpu [%]\n2026/03/01 12:00:00.000, 0, 93 %\n2026/03/01 12:00:01.000, 0, [N/A]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	f, err := tracefile.ReadFile(path, &tracefile.Options{Location: time.FixedZone("CET", 3600)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range f.Traces[0].Samples {
		fmt.Println(s.At.UTC().Format(time.RFC3339), s.GPUBusy)
	}
	// Output:
	// 2026-03-01T11:00:00Z 0.93
	// 2026-03-01T11:00:01Z missing
}

// ExampleQuery asks a server; here a small one that knows a single answer.
func ExampleQuery() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[
			{"metric":{"__name__":"DCGM_FI_PROF_SM_ACTIVE","UUID":"GPU-a","pod":"train-7"},
			 "values":[[1700000000,"0.52"],[1700000030,"0.48"]]}]}}`)
	}))
	defer server.Close()
	f, err := tracefile.Query(context.Background(), tracefile.PromQuery{
		BaseURL: server.URL, Match: `pod="train-7"`,
		Start: time.Unix(1_700_000_000, 0), End: time.Unix(1_700_000_030, 0),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range f.Traces[0].Samples {
		fmt.Println(s.At.Format(time.TimeOnly), s.SMActive)
	}
	// Output:
	// 22:13:20 0.52
	// 22:13:50 0.48
}

// Example makes a vector from a config.json and a log of nvidia-smi dmon.
func Example() {
	model, err := modelfile.Read(strings.NewReader(`{"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "vocab_size": 50257}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	log, err := tracefile.Read(strings.NewReader(dmon), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu, _ := profile.LookupGPU("NVIDIA A100-SXM4-40GB")
	p, err := profile.New(model.Spec(8), log.Traces[0], gpu)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range []profile.Feature{profile.ParamCount, profile.BatchSize, profile.MeanGPUBusy, profile.PeakMemory, profile.MeanSMActive} {
		x, ok := p.Vector.Get(f)
		fmt.Printf("%v %.4g %t\n", f, x, ok)
	}
	// Output:
	// params 1.244e+08 true
	// batch 8 true
	// mean_gpu_busy 0.8 true
	// peak_memory 1.153e+09 true
	// mean_sm_active 0 false
}
