package main

import (
	"strings"
	"testing"
)

// good is a run in which every bound just holds.
const good = `{"set":"memory_mlp","split":"random","model":"colloc","n":10,"mape_pct":0.6}
{"set":"memory_mlp","split":"family","model":"colloc","n":10,"mape_pct":30,"coverage_pct":98.5,"waste_pct":12}
{"set":"memory_cnn","split":"family","model":"colloc","n":10,"mape_pct":6.2,"coverage_pct":98.5,"waste_pct":56}
{"set":"memory_mlp","split":"random","model":"horus","n":10,"mape_pct":80}
{"set":"memory_cnn","split":"random","model":"colloc","n":10,"mape_pct":5.1}
{"set":"memory_transformer","split":"width","model":"colloc","n":10,"mape_pct":10,"coverage_pct":98,"waste_pct":60}
{"set":"memory_carma_real","split":"family","model":"colloc","n":10,"mape_pct":15.5,"coverage_pct":97,"waste_pct":120}
{"set":"interference_lucid","split":"random","model":"colloc","n":10,"mae":0.037}
{"set":"interference_lucid","split":"random","model":"proportional","n":10,"mae":0.0371}
{"set":"interference_lucid","split":"family","model":"colloc","n":10,"mae":0.0675,"coverage_pct":88}
{"set":"interference_gavel","split":"family","model":"colloc","n":10,"mae":0.117,"coverage_pct":95,"worst_coverage_pct":84.5,"matching_fraction":0.91}
{"set":"interference_gavel","split":"family","model":"matrix_completion","n":10,"mae":0.1171}
{"set":"interference_lucid_online","split":"family","model":"colloc","n":10,"cover_after_0":0.9,"cover_after_1":0.9,"cover_after_3":0.9,"cover_after_8":0.9,"cover_after_16":0.9,"cover_after_32":0.9,"cover_after_64":0.9,"worst_cover_after_1":0.9,"worst_cover_after_3":0.9,"worst_cover_after_8":0.9,"worst_cover_after_16":0.9,"worst_cover_after_32":0.9,"worst_cover_after_64":0.9}
{"set":"interference_mps_online","split":"family","model":"colloc","n":10,"mae_after_1":0.12,"cover_after_0":0.9,"cover_after_1":0.9,"cover_after_3":0.9,"cover_after_8":0.9,"cover_after_16":0.9,"cover_after_32":0.9}
{"set":"interference_gavel_online","split":"family","model":"colloc","n":10,"cover_after_0":0.9,"cover_after_1":0.9,"cover_after_3":0.9,"cover_after_8":0.9,"cover_after_16":0.9,"cover_after_32":0.9,"cover_after_64":0.9}
{"set":"pace","split":"model","model":"colloc","n":10,"median_error_pct":20,"p90_error_pct":75,"order_accuracy":0.97,"coverage_pct":87}
{"set":"pace","split":"card","model":"colloc","n":10,"median_error_pct":22,"p90_error_pct":99,"order_accuracy":0.9,"coverage_pct":95}
`

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name     string
		old, new string // replaced in good, once
		want     string // part of the error, "" for none
	}{
		{name: "holds"},
		{"over", `"n":10,"mape_pct":5.1`, `"n":10,"mape_pct":5.101`, "memory_cnn mape_pct 5.101: must be at most 5.1"},
		{"no better than the baseline", `0.0371`, `0.037`, "must be below proportional's 0.037"},
		{"baseline missing", `"proportional"`, `"horus"`, "interference_lucid random proportional: evaluate printed 0 such lines"},
		{"line missing", `"set":"memory_cnn","split":"random"`, `"set":"memory_timm","split":"random"`, "memory_cnn random colloc: evaluate printed 0 such lines"},
		{"line twice", `"split":"family"`, `"split":"random"`, "memory_mlp random colloc: evaluate printed 2 such lines"},
		{"a worst family too many", `"worst_coverage_pct":84.5`, `"worst_coverage_pct":84.4`, "worst_coverage_pct 84.4: must be at least 84.5"},
		{"a promise broken while learning", `"cover_after_16":0.9`, `"cover_after_16":0.87`, "cover_after_16 0.87: must be at least 0.88"},
		{"no rows", `"n":10`, `"n":0`, "n is 0"},
		{"metric missing", `"mape_pct":0.6`, `"mape":0.6`, "mape_pct is <nil>"},
		{"metric null", `"mape_pct":0.6`, `"mape_pct":null`, "mape_pct is <nil>"},
		{"metric negative", `"mape_pct":0.6`, `"mape_pct":-1`, "mape_pct is -1"},
		{"below the least", `0.97`, `0.9699`, "order_accuracy 0.9699: must be at least 0.97"},
		{"too wide", `"order_accuracy":0.9,"coverage_pct":95`, `"order_accuracy":0.9,"coverage_pct":95.1`, "coverage_pct 95.1: must be at most 95"},
		{"cut off", "\"coverage_pct\":95}\n", "", "object 17 of standard input: unexpected EOF"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			err := check(strings.NewReader(strings.Replace(good, tc.old, tc.new, 1)), &out)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("check: %v, want no error", err)
			case tc.want == "" && strings.Count(out.String(), "\n") != len(bounds()):
				t.Errorf("printed %q, want a line a bound", out.String())
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("check: %v, want %q", err, tc.want)
			}
		})
	}
}
