package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/examples/evaluate/internal/protocol"
)

// pictured are made-up results of two sets.
func pictured() []line {
	var memory, speed protocol.Picture
	for i := range 30 {
		v := float64(i) / 10
		memory.Points = append(memory.Points, protocol.Point{Seen: v, Predicted: v + 0.1})
		speed.Points = append(speed.Points, protocol.Point{Seen: v / 3, Predicted: 0.5, Covered: i%10 != 0})
	}
	memory.Unit, memory.Risks = "GiB", []protocol.Risk{{Asked: 0.2, Seen: 0.19}, {Asked: 0.1, Seen: 0.11}}
	speed.Unit, speed.Interval = "speed", true
	return []line{
		{"memory_x", "random", protocol.Result{Model: "colloc", N: 30, Picture: memory}},
		{"memory_x", "random", protocol.Result{Model: "rival", N: 30}},
		{"speed_y", "family", protocol.Result{Model: "colloc", N: 30, Picture: speed}},
	}
}

func TestPlots(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "new", "plots"), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := writePlots(dir, pictured()); err != nil {
			t.Fatal(err)
		}
	}
	for name, series := range map[string][]string{
		"memory_x-random-predicted": {"memory_x random", "as said", "measured, GiB"},
		"speed_y-family-predicted":  {"speed_y family", "predicted, speed"},
		"calibration-oom":           {"memory_x random", "asked risk, %"},
		"calibration-intervals":     {"speed_y family", "promised"},
	} {
		for _, suffix := range []string{".svg", ".png"} {
			got, err := os.ReadFile(filepath.Join(first, name+suffix))
			if err != nil {
				t.Fatal(err)
			}
			again, err := os.ReadFile(filepath.Join(second, name+suffix))
			if err != nil || !bytes.Equal(got, again) {
				t.Errorf("%s%s differs from run to run (%v)", name, suffix, err)
			}
			if suffix == ".png" {
				if _, err := png.Decode(bytes.NewReader(got)); err != nil {
					t.Errorf("%s.png: %v", name, err)
				}
				continue
			}
			checkSVG(t, name, got, series)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(first, "*")); len(files) != 8 {
		t.Errorf("files %v, want 8", files)
	}
}

// checkSVG verifies that a picture is XML and says every text of series.
func checkSVG(t *testing.T, name string, svg []byte, series []string) {
	t.Helper()
	var said strings.Builder
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%s.svg: %v", name, err)
			return
		}
		if text, ok := token.(xml.CharData); ok {
			said.Write(text)
		}
	}
	for _, want := range series {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s.svg does not say %q", name, want)
		}
	}
}

// TestIntervalPoints counts by hand: forty rows in tenths, the four largest miss.
func TestIntervalPoints(t *testing.T) {
	var points []protocol.Point
	for i := range 40 {
		points = append(points, protocol.Point{Predicted: float64(40 - i), Covered: i >= 4})
	}
	got := intervalPoints(points)
	if len(got) != intervalBins || got[9].Y != 0 || got[8].Y != 100 || got[0].X != 1 {
		t.Errorf("share within, by tenth: %v", got)
	}
}

func TestCalibrationLines(t *testing.T) {
	var out bytes.Buffer
	if err := writeJSON(&out, pictured(), true); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, l := range decode(t, out.Bytes()) {
		if l["kind"] == "oom_calibration" {
			seen = append(seen, fmt.Sprint(l["asked_pct"], " ", l["seen_pct"]))
		}
	}
	if got := strings.Join(seen, ", "); got != "20 19, 10 11" {
		t.Errorf("asked and seen: %s", got)
	}
}
