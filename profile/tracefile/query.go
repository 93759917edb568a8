package tracefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile/tracefile/internal/gather"
	"example.com/colloc/profile/tracefile/internal/prometheus"
)

// PromQuery is a question to a Prometheus server, or to another one with its
// HTTP API.
type PromQuery struct {
	// BaseURL is the server's address, such as "http://prometheus:9090"; a path
	// in it is kept. Required.
	BaseURL string
	// Client sends the requests; nil is http.DefaultClient. Authentication is
	// its transport's affair.
	Client *http.Client
	// Match narrows the series down: label matchers as inside the braces of a
	// selector, such as `pod="train-7",namespace="ml"`. Empty takes all.
	Match string
	// Start and End bound the times, both included. Required.
	Start, End time.Time
	// Step is the time between points; 0 means 30 s, dcgm-exporter's default.
	Step time.Duration
	// MaxPoints is the most points of one series in one request; 0 means
	// 11,000, the server's own limit.
	MaxPoints int
}

const (
	defaultStep      = 30 * time.Second
	defaultMaxPoints = 11_000
	maxRequests      = 10_000
)

// Query asks a Prometheus server for all metrics that this package reads and
// returns one trace for each GPU, MIG instance, pod or container. A range of
// more points than MaxPoints is asked for in pieces, one after the other. The
// server's warnings become the file's. It stops when ctx is done.
// O(series × points).
func Query(ctx context.Context, q PromQuery) (*File, error) {
	c := gather.New(&gather.Options{})
	m := prometheus.NewMatrix(c)
	if err := q.pieces(func(start, end time.Time) error { return q.ask(ctx, m, start, end) }); err != nil {
		return nil, fmt.Errorf("tracefile: query: %w", err)
	}
	if err := m.Finish(); err != nil {
		return nil, fmt.Errorf("tracefile: query: %w", err)
	}
	return file(c, Matrix), nil
}

// pieces cuts the range into requests that no server refuses.
func (q *PromQuery) pieces(ask func(start, end time.Time) error) error {
	points := q.MaxPoints
	if points == 0 {
		points = defaultMaxPoints
	}
	step := q.step()
	switch {
	case q.BaseURL == "":
		return errors.New("BaseURL is empty; want the server's address")
	case q.Start.IsZero() || q.End.IsZero() || q.End.Before(q.Start):
		return fmt.Errorf("the range from Start %v to End %v is empty", q.Start, q.End)
	case step < time.Millisecond:
		return fmt.Errorf("a Step of %v, want 0 or at least 1ms", q.Step)
	case points < 1:
		return fmt.Errorf("MaxPoints is %d, want 0 or more", q.MaxPoints)
	}
	length := q.End.Sub(q.Start)
	if int64(points) > int64(length/step) {
		return ask(q.Start, q.End)
	}
	span := step * time.Duration(points-1)
	if n := length / (span + step); n >= maxRequests {
		return fmt.Errorf("the range takes %d requests, at most %d are sent: choose a longer Step", int64(n)+1, maxRequests)
	}
	for start := q.Start; !start.After(q.End); start = start.Add(span + step) {
		end := start.Add(span)
		if end.After(q.End) {
			end = q.End
		}
		if err := ask(start, end); err != nil {
			return err
		}
	}
	return nil
}

func (q *PromQuery) step() time.Duration {
	if q.Step == 0 {
		return defaultStep
	}
	return q.Step
}

// selector asks for all known metrics at once.
func (q *PromQuery) selector() string {
	text := `{__name__=~"` + strings.Join(prometheus.MetricNames(), "|") + `"`
	if q.Match != "" {
		text += "," + q.Match
	}
	return text + "}"
}

func (q *PromQuery) ask(ctx context.Context, m *prometheus.Matrix, start, end time.Time) error {
	seconds := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
	address, err := url.Parse(q.BaseURL)
	if err != nil {
		return err
	}
	address = address.JoinPath("api/v1/query_range")
	address.RawQuery = url.Values{
		"query": {q.selector()}, "start": {seconds(start)}, "end": {seconds(end)},
		"step": {strconv.FormatFloat(q.step().Seconds(), 'f', -1, 64)},
	}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return err
	}
	client := q.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read only: nothing is lost
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 512)) // the status is the error
		return fmt.Errorf("the server answered %s: %s", response.Status, strings.ToValidUTF8(string(text), ""))
	}
	return m.Read(response.Body)
}
