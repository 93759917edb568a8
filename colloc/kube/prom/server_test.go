package prom_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/kube/prom"
)

// server answers every question with a text.
func server(t *testing.T, code int, text string) *prom.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return &prom.Server{URL: s.URL, Timeout: time.Minute}
}

func TestAsk(t *testing.T) {
	for _, tt := range []struct {
		name string
		code int
		text string
		want string // points, or part of the error
	}{
		{"vector", 200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"gpu":"1"},"value":[1,"0.5"]},{"metric":{"gpu":"2"},"value":[1,"NaN"]}]}}`, "[{map[gpu:1] 0.5}]"},
		{"scalar", 200, `{"status":"success","data":{"resultType":"scalar","result":[1,"7"]}}`, "[{map[] 7}]"},
		{"nothing", 200, `{"status":"success","data":{"resultType":"vector","result":[]}}`, "[]"},
		{"matrix", 200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`, "it is a matrix"},
		{"bad query", 400, `{"status":"error","error":"parse error"}`, "parse error"},
		{"no Prometheus", 502, `<html>`, "502"},
		{"no JSON", 200, `x`, "200"},
		{"no number", 200, `{"status":"success","data":{"resultType":"scalar","result":[1,true]}}`, "no number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			points, err := server(t, tt.code, tt.text).Ask(t.Context(), "up")
			got := fmt.Sprint(points)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A server that answers with an error as long as an answer may be does not fill the log with it.
func TestLongError(t *testing.T) {
	for _, code := range []int{200, 500} {
		_, err := server(t, code, `{"status":"error","error":"`+strings.Repeat("x", 1<<20)+`"}`).Ask(t.Context(), strings.Repeat("y", 1<<14))
		if n := len(fmt.Sprint(err)); err == nil || n > 2000 {
			t.Errorf("status %d: an error of %d bytes", code, n)
		}
	}
}

func TestOne(t *testing.T) {
	two := `{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"1"]},{"value":[1,"2"]}]}}`
	if x, err := server(t, 200, two).One(t.Context(), "up"); err == nil || !strings.Contains(err.Error(), "2 answers") {
		t.Errorf("got %v, %v, want that it cannot be told which of two counts", x, err)
	}
	if x, err := server(t, 200, strings.Replace(two, `{"value":[1,"1"]},`, "", 1)).One(t.Context(), "up"); err != nil || x.Or(0) != 2 {
		t.Errorf("got %v, %v, want 2", x, err)
	}
}

func TestCard(t *testing.T) {
	text := `{"status":"success","data":{"resultType":"matrix","result":[
		{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","gpu":"0","UUID":"GPU-a"},"values":[[100,"20"],[110,"40"]]},
		{"metric":{"__name__":"DCGM_FI_DEV_FB_USED","gpu":"0","UUID":"GPU-a"},"values":[[100,"4096"],[110,"2048"]]}]}}`
	p := server(t, 200, text)
	s, err := p.Card(t.Context(), "n1", "GPU-a", time.Unix(100, 0), time.Unix(110, 0))
	if err != nil || s.GPUBusy.Or(0) < 0.299 || s.GPUBusy.Or(0) > 0.301 || s.MemUsed.Or(0) != 4096<<20 || s.Window != 10*time.Second || !s.PowerWatts.IsZero() {
		t.Errorf("got %+v, %v, want the mean of 20 and 40 per cent, and the most memory", s, err)
	}
	for _, address := range []string{"GPU-a", "0"} {
		point := prom.Point{Labels: map[string]string{"UUID": "GPU-a", "Hostname": "n1", "gpu": "0"}}
		if !point.Of("n1", address) || point.Of("n1", "1") || point.Of("n2", "0") {
			t.Errorf("%v is not told to be of card %s alone", point, address)
		}
	}
}
