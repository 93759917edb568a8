// Command accuracy holds what examples/evaluate measured against the accuracy
// that colloc must keep. It reads evaluate's lines from standard input, prints
// each figure beside its bound, and exits with status 1 if one is missed or
// missing.
//
//	(go run ./examples/evaluate -train "$COLLOC_DATA"; go run ./examples/evaluate -train "$COLLOC_DATA" -online) | go run ./internal/accuracy
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// usual is the cross-validation of most bounds: random folds, whose rows are of
// families seen in training.
const usual = "random"

// A bound is the range that a metric of colloc's own line may take: numbers, or
// less than what another model reached in the same run.
type bound struct {
	set, metric string
	min, max    float64
	baseline    string // if set, max is this model's value and must not be reached
	split       string // "" is usual
}

// bounds are the accuracy that is promised, as percentages, mean absolute errors
// in units of relative speed, and the share of pairs named in the right order.
func bounds() []bound {
	all := []bound{
		{set: "memory_mlp", metric: "mape_pct", max: 0.6},
		{set: "memory_cnn", metric: "mape_pct", max: 5.1},
		{set: "memory_cnn", split: "family", metric: "mape_pct", max: 6.2},
		{set: "memory_cnn", split: "family", metric: "coverage_pct", min: 98.5, max: 100},
		{set: "memory_cnn", split: "family", metric: "waste_pct", max: 56},
		{set: "memory_mlp", split: "family", metric: "coverage_pct", min: 98.5, max: 100},
		{set: "memory_mlp", split: "family", metric: "waste_pct", max: 12},
		{set: "memory_transformer", split: "width", metric: "mape_pct", max: 10},
		{set: "memory_transformer", split: "width", metric: "coverage_pct", min: 98, max: 100},
		{set: "memory_transformer", split: "width", metric: "waste_pct", max: 60},
		{set: "memory_carma_real", split: "family", metric: "mape_pct", max: 15.5},
		{set: "memory_carma_real", split: "family", metric: "coverage_pct", min: 97, max: 100},
		{set: "memory_carma_real", split: "family", metric: "waste_pct", max: 120},
		{set: "interference_lucid", metric: "mae", max: 0.037},
		{set: "interference_lucid", metric: "mae", baseline: "proportional"},
		{set: "interference_lucid", split: "family", metric: "mae", max: 0.0675},
		{set: "interference_lucid", split: "family", metric: "coverage_pct", min: 88, max: 96},
		{set: "interference_gavel", split: "family", metric: "mae", max: 0.117},
		{set: "interference_gavel", split: "family", metric: "mae", baseline: "matrix_completion"},
		{set: "interference_gavel", split: "family", metric: "matching_fraction", min: 0.91, max: 1},
		{set: "interference_gavel", split: "family", metric: "coverage_pct", min: 88, max: 95},
		{set: "interference_gavel", split: "family", metric: "worst_coverage_pct", min: 84.5, max: 100},
		{set: "pace", split: "model", metric: "median_error_pct", max: 20},
		{set: "pace", split: "model", metric: "p90_error_pct", max: 75},
		{set: "pace", split: "model", metric: "order_accuracy", min: 0.97, max: 1},
		{set: "pace", split: "model", metric: "coverage_pct", min: 87, max: 95},
		{set: "pace", split: "card", metric: "median_error_pct", max: 22},
		{set: "pace", split: "card", metric: "coverage_pct", min: 87, max: 95},
	}
	for _, set := range []string{"interference_lucid_online", "interference_gavel_online"} {
		for _, coRuns := range []int{0, 1, 3, 8, 16, 32, 64} { // of a family that was left out, refitted
			all = append(all, bound{set: set, split: "family", metric: fmt.Sprintf("cover_after_%d", coRuns), min: 0.88, max: 0.97})
		}
	}
	for _, coRuns := range []int{1, 3, 8, 16, 32, 64} {
		all = append(all, bound{set: "interference_lucid_online", split: "family", metric: fmt.Sprintf("worst_cover_after_%d", coRuns), min: 0.88, max: 1})
	}
	for _, coRuns := range []int{0, 1, 3, 8, 16, 32} {
		all = append(all, bound{set: "interference_mps_online", split: "family", metric: fmt.Sprintf("cover_after_%d", coRuns), min: 0.88, max: 0.975})
	}
	return append(all, bound{set: "interference_mps_online", split: "family", metric: "mae_after_1", max: 0.12})
}

func main() {
	if err := check(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check prints each bound with its figure and joins what does not hold.
func check(r io.Reader, w io.Writer) error {
	lines, err := read(r)
	if err != nil {
		return err
	}
	var errs []error
	for _, b := range bounds() {
		verdict, err := b.check(lines)
		errs = append(errs, err)
		if err == nil {
			_, err = fmt.Fprintln(w, verdict)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// A line is one JSON object of evaluate: set, split, model, n and the metrics.
type line map[string]any

// read decodes evaluate's lines.
func read(r io.Reader) ([]line, error) {
	var lines []line
	for d := json.NewDecoder(r); ; {
		var l line
		switch err := d.Decode(&l); {
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil:
			return nil, fmt.Errorf("accuracy: object %d of standard input: %w", len(lines)+1, err)
		}
		lines = append(lines, l)
	}
}

// check compares colloc's figure with the bound.
func (b bound) check(lines []line) (string, error) {
	got, err := b.figure(lines, "colloc")
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s %s %.4g", b.set, b.metric, got)
	if b.split != "" {
		name = fmt.Sprintf("%s, %s left out: %s %.4g", b.set, b.split, b.metric, got)
	}
	if b.baseline == "" {
		if got < b.min {
			return "", fmt.Errorf("accuracy: %s: must be at least %.4g", name, b.min)
		}
		if got <= b.max {
			return fmt.Sprintf("%s, at most %.4g", name, b.max), nil
		}
		return "", fmt.Errorf("accuracy: %s: must be at most %.4g", name, b.max)
	}
	rival, err := b.figure(lines, b.baseline)
	if err != nil {
		return "", err
	}
	if got < rival {
		return fmt.Sprintf("%s, below %s's %.4g", name, b.baseline, rival), nil
	}
	return "", fmt.Errorf("accuracy: %s: must be below %s's %.4g", name, b.baseline, rival)
}

// figure returns a model's metric. There must be exactly one, over some rows.
func (b bound) figure(lines []line, model string) (float64, error) {
	var found []line
	split := cmp.Or(b.split, usual)
	for _, l := range lines {
		if l["set"] == b.set && l["split"] == split && l["model"] == model {
			found = append(found, l)
		}
	}
	what := strings.Join([]string{b.set, split, model}, " ")
	if len(found) != 1 {
		return 0, fmt.Errorf("accuracy: %s: evaluate printed %d such lines, want 1", what, len(found))
	}
	if n, ok := found[0]["n"].(float64); !ok || n < 1 {
		return 0, fmt.Errorf("accuracy: %s: n is %v, want a number of rows", what, found[0]["n"])
	}
	v, ok := found[0][b.metric].(float64)
	if !ok || v < 0 {
		return 0, fmt.Errorf("accuracy: %s: %s is %v, want a number", what, b.metric, found[0][b.metric])
	}
	return v, nil
}
