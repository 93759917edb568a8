package simulate

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
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
		chromedp.WSURLReadTimeout(2 * time.Minute), // a busy machine starts it slowly
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

// TestReportInBrowser opens the report without a network, looks whether charts
// and table are drawn, sorts the table, and listens for errors.
func TestReportInBrowser(t *testing.T) {
	tab := browser(t)
	file := filepath.Join(t.TempDir(), "report.html")
	all := summarise(small(t, 2))
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeReport(f, "A test", "2 GPUs", "simulate -html report.html", 2, all); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var heard complaints
	chromedp.ListenTarget(tab, heard.listen)
	var charts, flat, timelines, rows int
	var first, last string
	address := url.URL{Scheme: "file", Path: file}
	err = chromedp.Run(tab,
		log.Enable(),
		chromedp.Navigate(address.String()),
		chromedp.Evaluate(`document.querySelectorAll("figure.chart svg").length`, &charts),
		chromedp.Evaluate(`[...document.querySelectorAll("figure.chart svg")].filter(s => { const b = s.getBBox(); return !(b.width > 50 && b.height > 50) }).length`, &flat),
		chromedp.Evaluate(`document.querySelectorAll("figure.timeline").length`, &timelines),
		chromedp.Evaluate(`document.querySelectorAll("#figures tbody tr").length`, &rows),
		chromedp.Click(`#figures th:nth-child(2) button`),
		chromedp.Text(`#figures tbody tr:first-child td:nth-child(2)`, &first),
		chromedp.Click(`#figures th:nth-child(2) button`),
		chromedp.Text(`#figures tbody tr:first-child td:nth-child(2)`, &last),
	)
	if err != nil {
		t.Fatal(err)
	}
	const zero = 2 // nothing runs out of memory: columns without a chart
	if want := len(columns()) - zero + 4 + len(all); charts != want || flat != 0 {
		t.Errorf("%d charts, %d of them without content; want %d and none", charts, flat, want)
	}
	if timelines != len(all) || rows != len(all) {
		t.Errorf("%d timelines and %d rows, want one for each of %d policies", timelines, rows, len(all))
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
