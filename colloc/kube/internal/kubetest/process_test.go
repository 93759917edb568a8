//go:build kube

package kubetest

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Collocd is a collocd that runs.
type Collocd struct {
	*Process
	// URL is where it serves /metrics and /healthz.
	URL string
}

// Collocd starts a program with the API server's address and more flags.
func (c *Cluster) Collocd(program, kubeconfig string, flags ...string) *Collocd {
	c.tb.Helper()
	p := c.Start("collocd", program, append([]string{"--kubeconfig=" + kubeconfig, "--metrics-addr=127.0.0.1:0"}, flags...)...)
	d := &Collocd{Process: p}
	c.Await("collocd says where it serves", func() bool {
		text, err := os.ReadFile(p.log)
		_, after, said := strings.Cut(string(text), `msg="serving /metrics and /healthz" addr=`)
		address, _, whole := strings.Cut(after, "\n")
		d.URL = "http://" + address
		return err == nil && said && whole || p.ended()
	})
	return d
}

// Metrics returns what it says at /metrics, by series as they are written there; false
// is that it does not answer.
func (d *Collocd) Metrics() (map[string]float64, bool) {
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get(d.URL + "/metrics")
	if err != nil {
		return nil, false
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up
	series := make(map[string]float64)
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		i := strings.LastIndexByte(lines.Text(), ' ')
		if i < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		name, value := lines.Text()[:i], lines.Text()[i+1:]
		if x, err := strconv.ParseFloat(value, 64); err == nil {
			series[name] = x
		}
	}
	return series, resp.StatusCode == http.StatusOK
}

// PeakMemory returns the most memory that a program has had, in MiB.
func (p *Process) PeakMemory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			x, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(kib), " kB"), 64)
			return x / 1024, err
		}
	}
	return 0, fmt.Errorf("%s: no VmHWM", p.Name)
}
