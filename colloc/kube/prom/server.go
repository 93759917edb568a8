package prom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile"
	"example.com/colloc/profile/tracefile"
)

// Server is one with Prometheus' HTTP API. Safe for concurrent use.
type Server struct {
	// URL is its address, such as http://prometheus:9090; a path in it is kept. Required.
	URL string
	// Client sends the questions; nil is http.DefaultClient.
	Client *http.Client
	// Timeout is how long one question may take; 0 means 10 s.
	Timeout time.Duration
}

const (
	defaultTimeout = 10 * time.Second
	maxAnswer      = 32 << 20 // bytes
	maxSamples     = 500      // of a card that are averaged
)

// Point is the value of one series now.
type Point struct {
	// Labels are those of the series.
	Labels map[string]string
	// Value is finite.
	Value float64
}

// answer is what /api/v1/query says.
type answer struct {
	Status, Error string
	Data          struct {
		ResultType string
		Result     json.RawMessage
	}
}

// Ask returns what a query says now, one point for each series; a scalar is a point
// without labels. Values that are not finite are left out: they are not known.
func (p *Server) Ask(ctx context.Context, query string) ([]Point, error) {
	timeout := p.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	points, err := p.get(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("prometheus: query %.500q: %w", query, err)
	}
	return points, nil
}

// One is Ask for a query that has one answer; missing is that it has none now. Several
// are an error, for nobody can say which is meant.
func (p *Server) One(ctx context.Context, query string) (profile.Opt[float64], error) {
	points, err := p.Ask(ctx, query)
	switch {
	case err != nil:
		return profile.Opt[float64]{}, err
	case len(points) == 0:
		return profile.Opt[float64]{}, nil
	case len(points) > 1:
		return profile.Opt[float64]{}, fmt.Errorf("prometheus: query %.500q has %d answers, want one: sum or average them", query, len(points))
	}
	return profile.Some(points[0].Value), nil
}

func (p *Server) get(ctx context.Context, query string) ([]Point, error) {
	address, err := url.Parse(p.URL)
	if err != nil {
		return nil, err
	}
	address = address.JoinPath("api/v1/query")
	address.RawQuery = url.Values{"query": {query}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	client := p.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // read only: nothing is lost
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil || response.StatusCode != http.StatusOK && a.Error == "" {
		return nil, fmt.Errorf("the server answered %s: %.200q", response.Status, text)
	}
	if a.Status != "success" {
		return nil, fmt.Errorf("%.500s", a.Error)
	}
	return a.points()
}

func (a *answer) points() ([]Point, error) {
	type series struct {
		Metric map[string]string
		Value  [2]any
	}
	var all []series
	switch a.Data.ResultType {
	case "vector":
		if err := json.Unmarshal(a.Data.Result, &all); err != nil {
			return nil, err
		}
	case "scalar":
		one := series{}
		if err := json.Unmarshal(a.Data.Result, &one.Value); err != nil {
			return nil, err
		}
		all = append(all, one)
	default:
		return nil, fmt.Errorf("it is a %.100s, want a vector or a scalar", a.Data.ResultType)
	}
	var points []Point
	for _, s := range all {
		text, ok := s.Value[1].(string)
		x, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("value %.100s is no number", fmt.Sprint(s.Value[1]))
		}
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			points = append(points, Point{s.Metric, x})
		}
	}
	return points, nil
}

// Card returns the means of what DCGM saw of a card in a time, and the most memory, from
// at most 500 points; a Sample without a Window is that it saw nothing. address is what
// NVIDIA_VISIBLE_DEVICES of the card's pods is: its UUID, or its index on the node.
func (p *Server) Card(ctx context.Context, node, address string, from, to time.Time) (profile.Sample, error) {
	timeout := p.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	file, err := tracefile.Query(ctx, tracefile.PromQuery{
		BaseURL: p.URL, Client: p.Client, Match: match(node, address), Start: from, End: to, Step: max(time.Second, to.Sub(from)/maxSamples),
	})
	if errors.Is(err, tracefile.ErrEmpty) {
		return profile.Sample{}, nil
	}
	if err != nil {
		return profile.Sample{}, fmt.Errorf("prometheus: card %s of node %s: %w", address, node, err)
	}
	var all []profile.Sample
	for i := range file.Traces {
		all = append(all, file.Traces[i].Samples...)
	}
	return mean(all, to.Sub(from)), nil
}

// match are the labels by which dcgm-exporter names a card.
func match(node, address string) string {
	if strings.HasPrefix(address, "GPU-") {
		return fmt.Sprintf("UUID=%q", address)
	}
	return fmt.Sprintf("Hostname=%q,gpu=%q", node, address)
}

// Of reports whether a point is of a card.
func (p *Point) Of(node, address string) bool {
	return p.Labels["UUID"] == address || p.Labels["Hostname"] == node && p.Labels["gpu"] == address
}

// mean averages what samples know; of memory it takes the most.
func mean(all []profile.Sample, window time.Duration) profile.Sample {
	if len(all) == 0 {
		return profile.Sample{}
	}
	out := profile.Sample{Window: window}
	for _, of := range []func(*profile.Sample) *profile.Opt[float64]{
		func(s *profile.Sample) *profile.Opt[float64] { return &s.SMActive },
		func(s *profile.Sample) *profile.Opt[float64] { return &s.SMOccupancy },
		func(s *profile.Sample) *profile.Opt[float64] { return &s.TensorActive },
		func(s *profile.Sample) *profile.Opt[float64] { return &s.DRAMActive },
		func(s *profile.Sample) *profile.Opt[float64] { return &s.GPUBusy },
		func(s *profile.Sample) *profile.Opt[float64] { return &s.MemBusy },
		func(s *profile.Sample) *profile.Opt[float64] { return &s.FP32Active },
		func(s *profile.Sample) *profile.Opt[float64] { return &s.PowerWatts },
	} {
		sum, n := 0.0, 0
		for i := range all {
			if x, known := of(&all[i]).Get(); known {
				sum += x
				n++
			}
		}
		if n > 0 {
			*of(&out) = profile.Some(sum / float64(n))
		}
	}
	for i := range all {
		if m, known := all[i].MemUsed.Get(); known && m > out.MemUsed.Or(-1) {
			out.MemUsed = profile.Some(m)
		}
	}
	return out
}
