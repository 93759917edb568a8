//go:build !race

// What a browser draws is tested without the race detector, which has nothing to find in it:
// the driver of the browser is 53 packages to compile and to link.

package page_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/page"
	"example.com/colloc/internal/testbed"
)

func TestMain(m *testing.M) {
	testbed.Prepare()
	os.Exit(m.Run())
}

// browser returns a tab of a headless Chromium, or skips the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no browser: install the package chromium to test the page in one")
	}
	// Not t.TempDir, which fails the test when a browser that ends writes on.
	home, err := os.MkdirTemp("", "page-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Minute) // what is waited for may never be shown
	t.Cleanup(stop)
	allocator, stopAllocator := chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(program), chromedp.UserDataDir(home), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WSURLReadTimeout(5*time.Minute), // a busy machine starts it slowly
	)
	t.Cleanup(stopAllocator)
	tab, stopTab := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(tab) // waits until the browser has ended
		stopTab()
	})
	return tab
}

// heard collects what a page asks for and what it complains about.
type heard struct {
	mu              sync.Mutex
	asked, complain []string
}

func (h *heard) listen(event any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		h.asked = append(h.asked, e.Request.URL)
	case *runtime.EventExceptionThrown:
		h.complain = append(h.complain, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		h.complain = append(h.complain, "console."+string(e.Type))
	case *log.EventEntryAdded:
		h.complain = append(h.complain, e.Entry.Text)
	}
}

// A browser draws the page, asks nobody else for anything, runs nothing that a user wrote,
// and shows by itself what is new.
func TestBrowser(t *testing.T) {
	tab := browser(t)
	var drawn atomic.Bool // then there is one more job
	server := httptest.NewServer(page.Handler(func(context.Context) (api.State, error) {
		s := busy()
		if drawn.Load() {
			s.Queue = append(s.Queue, api.Job{ID: "6", User: "newer"})
		}
		return s, nil
	}))
	t.Cleanup(server.Close)
	var all heard
	chromedp.ListenTarget(tab, all.listen)
	var found struct {
		Loaded                                                                 bool
		GPUs, Conditions, Active, Queue, Users, Scripts, Reserved, Used, Whole int
	}
	const look = `({
		Loaded: document.readyState === "complete",
		GPUs: document.querySelectorAll(".gpu").length, Conditions: document.querySelectorAll(".gpu .bad").length,
		Active: document.querySelectorAll("#active tbody tr").length, Queue: document.querySelectorAll("#queue tbody tr").length,
		Users: document.querySelectorAll("#users tbody tr").length, Scripts: document.querySelectorAll("script").length,
		Reserved: Math.round(document.querySelector(".reserved").getBoundingClientRect().width),
		Used: Math.round(document.querySelector(".used").getBoundingClientRect().width),
		Whole: Math.round(document.querySelector(".bar").getBoundingClientRect().width),
	})`
	err := chromedp.Run(tab,
		log.Enable(), network.Enable(),
		chromedp.Navigate(server.URL),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			for !found.Loaded && ctx.Err() == nil { // it loads itself again every five seconds
				err = chromedp.Evaluate(look, &found).Do(ctx)
			}
			return err
		}),
		chromedp.ActionFunc(func(context.Context) error { drawn.Store(true); return nil }),
		chromedp.WaitVisible("#job-6", chromedp.ByQuery), // it has loaded itself again
	)
	if err != nil {
		t.Fatal(err)
	}
	if found.GPUs != 4 || found.Conditions != 3 || found.Active != 2 || found.Queue != 3 || found.Users != 3 || found.Scripts != 0 {
		t.Errorf("%+v: want 4 GPUs, 3 of them with a condition, 2 jobs that run, 3 that wait, three users, no script", found)
	}
	if w := found.Whole; w < 100 || found.Reserved < w/2-2 || found.Reserved > w/2+2 || found.Used < w/4-2 || found.Used > w/4+2 {
		t.Errorf("%+v: want bars of a half and a quarter", found)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, address := range all.asked {
		if !strings.HasPrefix(address, server.URL) && address != "data:," {
			t.Errorf("the page asks for %s", address)
		}
	}
	if len(all.asked) == 0 || len(all.complain) > 0 {
		t.Errorf("%d requests, complaints %q", len(all.asked), all.complain)
	}
}
