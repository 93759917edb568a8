//go:build kube

package kubetest

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Exporter is what dcgm-exporter and the pods would serve: series that a test sets.
type Exporter struct {
	mu     sync.Mutex
	series map[string]float64
}

// Set sets series, written as name{label="value"}, to values.
func (e *Exporter) Set(series map[string]float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.Copy(e.series, series)
}

// ServeHTTP serves the series as a scrape wants them.
func (e *Exporter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(e.series)) {
		fmt.Fprintf(&text, "%s %g\n", name, e.series[name])
	}
	_, _ = io.WriteString(w, text.String()) // who asked may have gone
}

// Prometheus starts Debian's Prometheus, which scrapes an Exporter every 200 ms, and
// returns its address once it answers.
func (c *Cluster) Prometheus() (*Exporter, string) {
	c.tb.Helper()
	e := &Exporter{series: make(map[string]float64)}
	target := httptest.NewServer(e)
	c.tb.Cleanup(target.Close)
	config := fmt.Sprintf("global: {scrape_interval: 200ms, scrape_timeout: 200ms}\nscrape_configs:\n- job_name: fake\n  static_configs: [{targets: [%q]}]\n", target.Listener.Addr())
	name := filepath.Join(c.Dir, "prometheus.yaml")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		c.tb.Fatal(err)
	}
	const tries = 3 // somebody else may take the port before it does
	for try := 1; ; try++ {
		ports, err := freePorts(1)
		if err != nil {
			c.tb.Fatal(err)
		}
		address := net.JoinHostPort("127.0.0.1", ports[0])
		p := c.Start("prometheus", filepath.Join(c.bin, "prometheus"), "--config.file="+name, "--web.listen-address="+address,
			"--storage.tsdb.path="+filepath.Join(c.Dir, "prometheus"+ports[0]))
		ready := false
		patiently(func() bool {
			response, err := http.Get("http://" + address + "/-/ready")
			if err == nil {
				ready = response.StatusCode == http.StatusOK
				_ = response.Body.Close() // nothing is read
			}
			return ready || p.ended()
		})
		if ready {
			return e, "http://" + address
		}
		if p.Kill(); try == tries {
			c.tb.Fatal("prometheus does not start:\n" + c.Logs())
		}
	}
}
