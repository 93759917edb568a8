package page

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"time"

	"example.com/colloc/colloc/station/api"
)

// patience is how long a station may take to say how it is.
const patience = 10 * time.Second

//go:embed page.html
var text string

// Handler answers GET and HEAD of any path with the page of the station as look finds it
// now; the State method of an api.Client is one. Browsers ask again every 5 s. If look
// fails the page says so, with status 503.
func Handler(look func(context.Context) (api.State, error)) http.Handler {
	page := template.Must(template.New("page").Parse(text))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the page is read-only", http.StatusMethodNotAllowed)
			return
		}
		ctx, stop := context.WithTimeout(r.Context(), patience)
		defer stop()
		var shown *view
		status := http.StatusOK
		if s, err := look(ctx); err == nil {
			shown = viewOf(&s)
		} else {
			status = http.StatusServiceUnavailable
		}
		var b bytes.Buffer
		if err := page.Execute(&b, shown); err != nil {
			http.Error(w, "the page cannot be drawn", http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write(b.Bytes()) // a browser that has gone needs no page
	})
}
