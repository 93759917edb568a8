package shadow_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/shadow"
	"example.com/colloc/packer"
	"example.com/colloc/predict"
)

// TestReportText: a report says all that it counted, and leaves out what nobody saw.
func TestReportText(t *testing.T) {
	from := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := shadow.Report{
		From: from, To: from.Add(time.Hour), Rounds: 9, Tasks: 8, Started: 7, Ended: 6, Died: 5, Forgotten: 1,
		Choices: shadow.Choices{SameGPUs: 1, BothShare: 2, BothAlone: 3, OnlyColloc: 4, OnlySite: 5, CollocWaits: 6},
		Earlier: shadow.Earlier{Tasks: 4, Seconds: 600}, Refused: []shadow.Refusal{{Code: packer.MemoryLimit, Tasks: 3, Died: 2}},
		Speeds: shadow.Speeds{Seen: 1, MAE: 0.125, Bias: -0.0625, Covered: 0.8, Confidence: 0.9}, Memory: shadow.Memory{Seen: 1, Under: 2, Waste: 0.25},
		Worst: []shadow.Miss{{GPU: "T4", Task: "a", Beside: []string{"b", "c"}, Seen: 0.5, Predicted: predict.Estimate{Value: 0.75, Lo: 0.7, Hi: 0.8}}},
	}
	const begin = "colloc beside the scheduler, 2026-01-02 03:04:05 to 2026-01-02 04:04:05, deciding nothing\n"
	want := begin + `9 rounds, 8 tasks: 7 starts, 6 ended, of them 5 out of memory
1 tasks were forgotten, because too many were open
starts: 2 share and 3 are alone as with colloc; 4 would share, 5 would not; 6 would wait; 1 on the same GPUs
4 would have started earlier, by 2m30s on average, each taken by itself
3 starts that colloc refuses (` + packer.MemoryLimit.String() + `), of them 2 died
speeds: 1 seen; off by 0.125, -0.062 on average; 80 % within the interval, 90 % were promised
memory: 1 peaks; 2 beyond what would be reserved, else 25 % of it unused
  a on T4 beside b, c: 0.50, predicted 0.75 (0.70 to 0.80)
`
	if diff := cmp.Diff(want, r.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r = shadow.Report{From: from, To: from.Add(time.Hour)}
	want = begin + `0 rounds, 0 tasks: 0 starts, 0 ended, of them 0 out of memory
starts: 0 share and 0 are alone as with colloc; 0 would share, 0 would not; 0 would wait; 0 on the same GPUs
`
	if diff := cmp.Diff(want, r.String()); diff != "" {
		t.Errorf("of nothing (-want +got):\n%s", diff)
	}
	if got := (shadow.Report{}).String(); strings.Contains(got, "0001") || !strings.HasPrefix(got, "colloc beside the scheduler, deciding nothing; no task was seen\n") {
		t.Errorf("of no time: %s", got)
	}
}

// TestReportOfHostileNames: what users called their models is not obeyed by the terminal of whoever reads the report.
func TestReportOfHostileNames(t *testing.T) {
	miss := shadow.Miss{GPU: "A100\x1b[2J", Task: "\x1b]0;mine\abert", Beside: []string{"vgg\r", "gpt"}, Seen: 1}
	text := shadow.Report{Worst: []shadow.Miss{miss}}.String()
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) || !strings.Contains(text, "bert on A100 beside vgg, gpt:") {
		t.Errorf("%q", text)
	}
}
