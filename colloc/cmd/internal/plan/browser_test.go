//go:build !race

// What a browser draws is tested without the race detector, which has nothing to find in it:
// the driver of the browser is 53 packages to compile and to link.

package plan

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser returns a tab of a headless Chromium, or skips the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		if program, err = exec.LookPath("google-chrome"); err != nil {
			t.Skip("no browser: install the package chromium to test the page in one")
		}
	}
	// Not t.TempDir, which fails the test when a browser that ends writes on.
	home, err := os.MkdirTemp("", "plan-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	allocator, stop := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(program), chromedp.UserDataDir(home), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-background-networking", true), chromedp.WSURLReadTimeout(5*time.Minute))
	t.Cleanup(stop)
	tab, stopTab := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(tab) // waits until the browser has ended
		stopTab()
	})
	return tab
}

// TestPageInBrowser opens the page of 500 tasks on 200 GPUs: each GPU has a picture with a
// name that says all, nothing is wider than the page down to 320 pixels, dark is dark, and
// the keyboard reaches the table.
func TestPageInBrowser(t *testing.T) {
	tab := browser(t)
	const tasks, gpus = 500, 200
	var text strings.Builder
	for i := range tasks {
		memory := 9 + i%5
		if i%10 == 0 {
			memory = 2 // these have a neighbour; a plan of more sets takes longer, and the page is the same
		}
		fmt.Fprintf(&text, `,{"id":"a-long-name-of-a-task-%d","kind":"k%d","training":{"batch_size":1},"solo":{"gpu":"T4","gpu_busy":0.%d,"mem_used":"%dGiB"}}`, i, i%5, 3+i%5, memory)
	}
	page := filepath.Join(t.TempDir(), "plan.html")
	good(t, "-gpus", strconv.Itoa(gpus)+"xT4", "-html", page, write(t, "tasks.json", `{"tasks": [`+text.String()[1:]+"]}"))
	var found struct {
		Named, Flat, Rows  int
		Wide               bool
		Paper, Ink, Anchor string
		Open               float64
	}
	const look = `({
		Open: performance.getEntriesByType("navigation")[0].loadEventEnd,
		Named: [...document.querySelectorAll("#gpus svg[role=img]")].filter(s => /^GPU gpu\d+, .*GiB reserved: .* of its speed alone/.test(s.getAttribute("aria-label"))).length,
		Flat: [...document.querySelectorAll("#gpus svg")].slice(0, 20).filter(s => { const b = s.getBBox(); return !(b.width > 200 && b.height > 40) }).length,
		Rows: document.querySelectorAll("tbody tr").length,
		Wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
		Paper: getComputedStyle(document.body).backgroundColor,
		Ink: getComputedStyle(document.querySelector("#gpus text")).fill,
		Anchor: document.activeElement.getAttribute("href") || document.activeElement.getAttribute("aria-label") || "",
	})`
	address := url.URL{Scheme: "file", Path: page}
	for _, test := range []struct {
		scheme     string
		width      int64
		paper, ink string
	}{
		{"light", 1280, "rgb(255, 255, 255)", "rgb(27, 31, 36)"},
		{"dark", 1280, "rgb(13, 17, 23)", "rgb(230, 237, 243)"},
		{"dark", 320, "rgb(13, 17, 23)", "rgb(230, 237, 243)"},
	} {
		err := chromedp.Run(tab,
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: test.scheme}}),
			chromedp.EmulateViewport(test.width, 900),
			chromedp.Navigate(address.String()),
			chromedp.KeyEvent(kb.Tab),
			chromedp.Evaluate(look, &found),
		)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, %d wide: opened in %.0f ms", test.scheme, test.width, found.Open)
		if found.Named != gpus || found.Flat != 0 || found.Rows != tasks {
			t.Errorf("%+v: want %d GPUs with names and pictures, and %d rows", found, gpus, tasks)
		}
		if found.Wide || found.Paper != test.paper || found.Ink != test.ink {
			t.Errorf("%s, %d wide: %+v", test.scheme, test.width, found)
		}
		if found.Anchor != "#table" {
			t.Errorf("the first stop of the keyboard is %q", found.Anchor)
		}
	}
	if err := chromedp.Run(tab, chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(look, &found)); err != nil {
		t.Fatal(err)
	}
	if stop := found.Anchor; stop != "all tasks in a table" {
		t.Errorf("the second stop of the keyboard is %q", stop)
	}
}
