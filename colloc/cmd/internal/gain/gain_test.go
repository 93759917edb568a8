package gain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
)

// call runs the command.
func call(tb testing.TB, stdin string, args ...string) (status int, out, errs string) {
	tb.Helper()
	var o, e bytes.Buffer
	status = run(tb.Context(), args, cli.Streams{In: strings.NewReader(stdin), Out: &o, Err: &e})
	return status, o.String(), e.String()
}

func write(tb testing.TB, name, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

const noon = 1769860800 // 2026-01-31T12:00:00Z

// queue is a history of n jobs of an hour on one GPU, all submitted at noon; watched ones
// say what they did.
func queue(n int, watched bool) string {
	var b strings.Builder
	b.WriteString("job,user,name,start,end,submitted,gpus,gpu,nodes,gpu_busy,memory\n")
	for i := range n {
		use := ","
		if watched {
			use = "0.2,2GiB"
		}
		fmt.Fprintf(&b, "%d,ann,train%d,%d,%d,%d,1,V100,n1,%s\n", i+1, i, noon+3600*i, noon+3600*(i+1), noon, use)
	}
	return b.String()
}

func TestGain(t *testing.T) {
	pairs := filepath.Join(t.TempDir(), "pairs.csv")
	status, out, errs := call(t, queue(6, true), "-replications", "2", "-pairs", pairs, "-")
	if status != 0 || errs != "" || !strings.Contains(out, "6 jobs, 6.00 GPU hours on 1 GPUs") || !strings.Contains(out, "hours less waiting") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	if text, err := os.ReadFile(pairs); err != nil || !strings.HasPrefix(string(text), "job,beside,gpu,gpu_hours\n2,3,V100-PCIe-16GB,") {
		t.Errorf("pairs %q, %v", text, err)
	}
	var r struct {
		Format string
		Total  struct {
			Jobs  int
			Saved struct{ Value float64 } `json:"saved_waiting_hours"`
		}
		Left struct{ Damaged int } `json:"left_out"`
	}
	status, out, errs = call(t, "", "-json", "-replications", "2", write(t, "a.csv", queue(6, true)), write(t, "b.csv", queue(7, true)+"x\n"))
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 || r.Format != "colloc gain" || r.Total.Jobs != 7 || r.Total.Saved.Value <= 0 || r.Left.Damaged != 1 {
		t.Errorf("status %d, %v: %+v %s", status, err, r, errs)
	}
	if !strings.Contains(errs, "b.csv: line 9: 1 fields") {
		t.Errorf("warnings %q", errs)
	}
}

// TestUse: what a server knows of the GPUs counts.
func TestUse(t *testing.T) {
	var values []string
	for at := noon; at < noon+6*3600; at += 300 {
		values = append(values, fmt.Sprintf(`[%d,"25"]`, at))
	}
	series := func(metric string) string {
		return fmt.Sprintf(`{"metric":{"__name__":%q,"gpu":"0","Hostname":"n1"},"values":[%s]}`, metric, strings.Join(values, ","))
	}
	answer := fmt.Sprintf(`{"status":"success","data":{"resultType":"matrix","result":[%s,%s]}}`, series("DCGM_FI_DEV_GPU_UTIL"), series("DCGM_FI_DEV_FB_USED"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("step") != "300" || !strings.Contains(r.FormValue("query"), `,cluster="a"}`) {
			t.Errorf("asked %v", r.Form)
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	jobs := write(t, "jobs.csv", queue(6, false))
	for name, args := range map[string][]string{
		"a server": {"-prometheus", server.URL, "-match", `cluster="a"`},
		"a file":   {"-use", write(t, "dcgm.json", answer)},
	} {
		status, out, errs := call(t, "", append(args, "-replications", "1", jobs)...)
		if status != 0 || errs != "" || !strings.Contains(out, "6 alone on their nodes") || !strings.Contains(out, "6 jobs do beside others what was observed") {
			t.Errorf("%s: status %d: %s%s", name, status, out, errs)
		}
	}
}

func TestRefuses(t *testing.T) {
	jobs := write(t, "jobs.csv", queue(2, true))
	for name, tt := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"nothing":         {nil, 2, "no history"},
		"no file":         {[]string{"none"}, 2, "no such file"},
		"no history":      {[]string{write(t, "x", "a,b\n")}, 2, "no header"},
		"a zone":          {[]string{"-zone", "Mars/North", jobs}, 2, "Mars"},
		"a time":          {[]string{"-from", "soon", jobs}, 2, "-from"},
		"a product":       {[]string{"-gpu", "a100=Abacus", jobs}, 2, "TYPE=PRODUCT"},
		"a cluster":       {[]string{"-gpus", "4xAbacus", jobs}, 2, "Abacus"},
		"a prior":         {[]string{"-prior", "sm=7", jobs}, 2, "-prior"},
		"a prior's name":  {[]string{"-prior", "zeal=.5", jobs}, 2, "zeal"},
		"half a prior":    {[]string{"-prior", "sm=.5", jobs}, 2, "Prior lacks"},
		"a step":          {[]string{"-step", "0s", jobs}, 2, "-step"},
		"no use":          {[]string{"-use", jobs, jobs}, 2, "-use"},
		"no server":       {[]string{"-prometheus", "http://127.0.0.1:1", jobs}, 1, "-prometheus"},
		"a set":           {[]string{"-max-set", "9", jobs}, 2, "MaxSet"},
		"pairs over it":   {[]string{"-pairs", jobs, jobs}, 2, "is read, too"},
		"pairs to nobody": {[]string{"-pairs", filepath.Join(t.TempDir(), "none", "x"), "-replications", "1", jobs}, 1, "-pairs"},
	} {
		if status, _, errs := call(t, "", tt.args...); status != tt.status || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: status %d, %q; want %d, %q", name, status, errs, tt.status, tt.want)
		}
	}
	if status, out, _ := call(t, "", "-h"); status != 0 || !strings.Contains(out, "sacct --allusers") || !strings.Contains(out, "-same-user") {
		t.Errorf("-h: %d %s", status, out)
	}
	if status, out, errs := call(t, "", "-from", "2030-01-01", jobs); status != 0 || !strings.Contains(out, "no job ran on a GPU") {
		t.Errorf("nothing left: %d %s%s", status, out, errs)
	}
	if got, err := (&options{location: time.UTC}).when("from", "2026-01-31"); err != nil || got.Day() != 31 {
		t.Errorf("%v, %v", got, err)
	}
}
