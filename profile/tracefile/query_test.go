package tracefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

// promServer is a server with one series, which refuses more points than the
// real one does and counts requests.
func promServer(t *testing.T, requests *int) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests++
		q := r.URL.Query()
		start, err1 := strconv.ParseFloat(q.Get("start"), 64)
		end, err2 := strconv.ParseFloat(q.Get("end"), 64)
		step, err3 := strconv.ParseFloat(q.Get("step"), 64)
		if err := errors.Join(err1, err2, err3); err != nil || r.URL.Path != "/prefix/api/v1/query_range" ||
			!strings.Contains(q.Get("query"), `DCGM_FI_DEV_GPU_UTIL|`) || !strings.HasSuffix(q.Get("query"), `,pod="train-7"}`) {
			http.Error(w, fmt.Sprint("bad question: ", err, r.URL), http.StatusBadRequest)
			return
		}
		if (end-start)/step > 11_000 {
			http.Error(w, "exceeded maximum resolution of 11,000 points per timeseries", http.StatusBadRequest)
			return
		}
		var b strings.Builder
		b.WriteString(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","gpu":"0","pod":"train-7"},"values":[`)
		for x := start; x <= end; x += step {
			if x > start {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `[%v,"%d"]`, int64(x), int64(x)%100)
		}
		b.WriteString(`]}]}}`)
		if _, err := fmt.Fprint(w, b.String()); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestQueryInPieces(t *testing.T) {
	requests := 0
	server := promServer(t, &requests)
	start := time.Unix(1_700_000_000, 0)
	q := PromQuery{
		BaseURL: server.URL + "/prefix", Match: `pod="train-7"`, Start: start, End: start.Add(25_000 * time.Second), Step: time.Second,
	}
	f, err := Query(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if requests != 3 || len(f.Traces) != 1 || len(f.Traces[0].Samples) != 25_001 {
		t.Fatalf("got %d requests, %d traces", requests, len(f.Traces))
	}
	for i, s := range f.Traces[0].Samples {
		if want := start.Add(time.Duration(i) * time.Second); !s.At.Equal(want) || s.GPUBusy != profile.Some(float64(want.Unix()%100)/100) {
			t.Fatalf("sample %d is %v at %v", i, s.GPUBusy, s.At)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Query(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it cancelled", err)
	}
}

// TestQueryNothing: a server that has none of the metrics is no error, and is told of.
func TestQueryNothing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"matrix","result":[]}}`)
	}))
	defer server.Close()
	at := time.Unix(1_700_000_000, 0)
	f, err := Query(t.Context(), PromQuery{BaseURL: server.URL, Start: at, End: at, Step: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	wantWarnings(t, f, ErrEmpty.Error())
}

func TestQueryErrors(t *testing.T) {
	requests := 0
	server := promServer(t, &requests)
	start := time.Unix(1_700_000_000, 0)
	good := PromQuery{BaseURL: server.URL + "/prefix", Start: start, End: start.Add(time.Hour)}
	for _, c := range []struct {
		name  string
		spoil func(*PromQuery)
		want  string
	}{
		{"server's word", func(*PromQuery) {}, "400 Bad Request: bad question"},
		{"no address", func(q *PromQuery) { q.BaseURL = "" }, "BaseURL is empty"},
		{"bad address", func(q *PromQuery) { q.BaseURL = "http://a b" }, "invalid character"},
		{"no scheme", func(q *PromQuery) { q.BaseURL = "localhost" }, "unsupported protocol"},
		{"backwards", func(q *PromQuery) { q.End = start.Add(-1) }, "is empty"},
		{"no start", func(q *PromQuery) { q.Start = time.Time{} }, "is empty"},
		{"negative step", func(q *PromQuery) { q.Step = -1 }, "a Step of -1ns"},
		{"negative points", func(q *PromQuery) { q.MaxPoints = -1 }, "MaxPoints is -1"},
		{"endless", func(q *PromQuery) { q.End, q.Step, q.MaxPoints = start.Add(10_000*time.Second), time.Second, 1 }, "the range takes 10001 requests, at most 10000 are sent: choose a longer Step"},
	} {
		q := good
		c.spoil(&q)
		if _, err := Query(context.Background(), q); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// refusal is a server's that says much, and whether its answer was closed.
type refusal struct {
	io.Reader
	closed bool
}

func (r *refusal) Close() error {
	r.closed = true
	return nil
}

func (r *refusal) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{Status: "503 no", StatusCode: http.StatusServiceUnavailable, Body: r}, nil
}

// TestQueryRefused: of a long refusal the beginning is told, and the answer is closed.
func TestQueryRefused(t *testing.T) {
	r := &refusal{Reader: strings.NewReader(strings.Repeat("x", 5000))}
	at := time.Unix(1_700_000_000, 0)
	_, err := Query(context.Background(), PromQuery{BaseURL: "http://prom", Client: &http.Client{Transport: r}, Start: at, End: at})
	if err == nil || !strings.HasSuffix(err.Error(), "answered 503 no: "+strings.Repeat("x", 512)) || !r.closed {
		t.Errorf("got %v, closed %t", err, r.closed)
	}
}

func TestQueryPieces(t *testing.T) {
	start := time.Unix(0, 0)
	for _, c := range []struct{ seconds, points, want int }{{0, 0, 1}, {10_999, 0, 1}, {11_000, 0, 2}, {9, 1, 10}, {9, 10, 1}, {10, 10, 2}, {9999, 1, 10_000}, {9, math.MaxInt, 1}, {9e9, 1e9, 10}} {
		n := 0
		last := start.Add(-time.Second)
		q := PromQuery{BaseURL: "x", Start: start, End: start.Add(time.Duration(c.seconds) * time.Second), Step: time.Second, MaxPoints: c.points}
		err := q.pieces(func(from, to time.Time) error {
			if !from.Equal(last.Add(time.Second)) || to.Before(from) {
				t.Errorf("%v: piece %v to %v after %v", c, from, to, last)
			}
			n, last = n+1, to
			return nil
		})
		if err != nil || n != c.want || !last.Equal(q.End) {
			t.Errorf("%v: got %d pieces up to %v, %v", c, n, last, err)
		}
	}
}

// TestAllocationsPerRow checks that twice the rows cost a few blocks more, not
// an allocation a row.
func TestAllocationsPerRow(t *testing.T) {
	for name, c := range map[string]struct{ head, row string }{
		"dmon":       {"# gpu sm mem\n", "0 50 20\n"},
		"csv":        {"timestamp, index, utilization.gpu [%]\n", "2026/03/01 12:00:00.000, 0, 93 %\n"},
		"exposition": {"# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n", `DCGM_FI_DEV_GPU_UTIL{gpu="0"} 93` + "\n"},
	} {
		count := func(rows int) float64 {
			text := c.head + strings.Repeat(c.row, rows)
			return testing.AllocsPerRun(3, func() {
				if _, err := Read(strings.NewReader(text), nil); err != nil {
					t.Fatal(err)
				}
			})
		}
		rows := race.Fewer(10_000)
		few, many := count(rows), count(2*rows)
		if many-few > 100 {
			t.Errorf("%s: %v allocations for %d rows, %v for twice as many", name, few, rows, many)
		}
	}
}
