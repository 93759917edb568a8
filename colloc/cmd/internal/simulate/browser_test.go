//go:build !race

// What a browser draws is tested without the race detector, which has nothing to find in it:
// the driver of the browser is 53 packages to compile and to link.

package simulate

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/profile"
)

// browser returns a tab of a headless Chromium, or skips the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("no browser: install the package chromium to test the report in one")
	}
	// Not t.TempDir, which fails the test when a browser that ends writes on.
	home, err := os.MkdirTemp("", "report-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.UserDataDir(home), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WSURLReadTimeout(5 * time.Minute), // a busy machine starts it slowly
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stopAllocator)
	tab, stopTab := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(tab) // waits until the browser has ended
		stopTab()
	})
	return tab
}

// complaints collects what a page writes to the console, and its errors.
type complaints struct {
	mu   sync.Mutex
	list []string
}

func (c *complaints) listen(event any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		c.list = append(c.list, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		c.list = append(c.list, "console."+string(e.Type))
	case *log.EventEntryAdded:
		c.list = append(c.list, e.Entry.Text)
	}
}

// crowd simulates tasks that run out of memory and move, under more policies than
// a chart can tell apart.
func crowd(t *testing.T) *study {
	t.Helper()
	cluster, err := sim.ParseCluster("2xA100-40GB")
	if err != nil {
		t.Fatal(err)
	}
	return &study{
		cluster: cluster, seeds: 2, timeline: true, baseline: "fifo", world: "2 GPUs",
		policies: []sim.Policy{
			policy.FIFO{},
			policy.Shortest{},
			policy.LAS{},
			policy.Random{},
			policy.Greedy{},
			policy.Greedy{MaxSet: 4},
			policy.CARMA{Blind: true},
			policy.Colloc{},
			policy.Colloc{Budget: profile.Some(0)},
		},
		draw: func(seed uint64) (day, error) {
			var tasks []sim.Task
			for i := range 14 {
				tasks = append(tasks, sim.Task{
					ID: fmt.Sprint("task-", i), Arrival: time.Duration(i) * time.Minute, Memory: 16 * profile.GiB,
					Work: time.Duration((14-i)*5+int(seed)) * time.Minute, Busy: 0.5, Class: "medium",
				})
			}
			return day{tasks: tasks, options: sim.Options{Truth: speed.Contention{}}, losses: []sim.Loss{{GPU: 1, At: time.Hour, For: time.Minute}}}, nil
		},
	}
}

// page writes a report to a file and returns its address.
func page(t *testing.T, s *study) string {
	t.Helper()
	outcomes, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeReport(f, "A test", s, "simulate -html report.html", summarise(outcomes)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	address := url.URL{Scheme: "file", Path: file}
	return address.String()
}

// TestReportInBrowser opens the report without a network and looks at what is
// drawn: the verdict, six policies at most, values on bars, names in the timelines,
// marks, one axis for all; it changes the policies, sorts the table, and listens
// for errors.
func TestReportInBrowser(t *testing.T) {
	tab := browser(t)
	s := crowd(t)
	address := page(t, s)
	var heard complaints
	chromedp.ListenTarget(tab, heard.listen)
	var found struct {
		Verdicts, Charts, Flat, Timelines, Rows, Checked, Disabled, Values, Bars, Axes, Colors int
		Span                                                                                   string
	}
	var marked map[string]int
	var fewer, more int
	var gone bool
	var first, last string
	const look = `({
		Verdicts: document.querySelectorAll("#verdict li").length,
		Charts: document.querySelectorAll("figure.chart svg").length,
		Flat: [...document.querySelectorAll("figure.chart svg")].filter(s => { const b = s.getBBox(); return !(b.width > 50 && b.height > 10) }).length,
		Timelines: document.querySelectorAll("figure.timeline").length,
		Rows: document.querySelectorAll("#figures tbody tr").length,
		Checked: document.querySelectorAll("#toggles input:checked").length,
		Disabled: document.querySelectorAll("#toggles input:disabled").length,
		Values: document.querySelectorAll("figure.bars text.value").length,
		Bars: document.querySelectorAll("figure.bars rect").length,
		Axes: new Set([...document.querySelectorAll("figure.timeline svg")].map(s => [...s.querySelectorAll("text.soft")].map(x => x.textContent).filter(x => x.endsWith(" h")).join())).size,
		Colors: new Set([...document.querySelectorAll("figure.lines:first-child path[stroke-width]")].map(p => p.getAttribute("stroke"))).size,
		Span: document.querySelector("rect.span title").textContent,
	})`
	const marks = `Object.fromEntries(["×", "▸", "!"].map(k => [k, [...document.querySelectorAll("text.mark")].filter(m => m.firstChild.textContent === k).length]))`
	const timelines = `document.querySelectorAll("figure.timeline").length`
	err := chromedp.Run(tab,
		log.Enable(),
		chromedp.Navigate(address),
		chromedp.Evaluate(look, &found),
		chromedp.Click(`#toggles label:nth-child(1) input`),
		chromedp.Evaluate(timelines, &fewer),
		chromedp.Click(`#toggles input[value="carma-magm-blind"]`), // whose tasks die
		chromedp.Evaluate(timelines, &more),
		chromedp.Evaluate(marks, &marked),
		chromedp.Evaluate(`![...document.querySelectorAll("figure.timeline h3")].some(h => h.textContent === "fifo")`, &gone),
		chromedp.Click(`#figures th:nth-child(2) button`),
		chromedp.Text(`#figures tbody tr:first-child td:nth-child(2)`, &first),
		chromedp.Click(`#figures th:nth-child(2) button`),
		chromedp.Text(`#figures tbody tr:first-child td:nth-child(2)`, &last),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", found)
	if found.Verdicts != 2*judged || found.Rows != len(s.policies) {
		t.Errorf("%d verdicts and %d rows, want four for each of two policies of ours and one for each of %d", found.Verdicts, found.Rows, len(s.policies))
	}
	if found.Checked != maxShown || found.Disabled != len(s.policies)-maxShown || found.Timelines != maxShown || found.Colors != maxShown {
		t.Errorf("%+v: want six policies in six colours and the other three off", found)
	}
	if found.Flat != 0 || found.Values == 0 || found.Values != found.Bars || found.Values%maxShown != 0 {
		t.Errorf("%+v: want content in every chart and a value on every bar", found)
	}
	if found.Axes != 1 || !strings.Contains(found.Span, "task-") {
		t.Errorf("%d time axes, the first span is %q; want one axis for all and the names of tasks", found.Axes, found.Span)
	}
	if marked["×"] == 0 || marked["▸"] == 0 || marked["!"] != maxShown {
		t.Errorf("marks %v, want some of deaths and moves, and one of the GPU that failed in each timeline", marked)
	}
	if fewer != maxShown-1 || more != maxShown || !gone {
		t.Errorf("%d timelines without fifo, %d with another instead, fifo gone: %t", fewer, more, gone)
	}
	if first == last || first == "" {
		t.Errorf("sorting by the second column does nothing: %q comes first in both directions", first)
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	if len(heard.list) > 0 {
		t.Errorf("the page complains: %q", heard.list)
	}
}
