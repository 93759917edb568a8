package sweep

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

func TestChoose(t *testing.T) {
	devices := []nvmlx.DeviceInfo{
		{ID: "GPU-aa", Index: 0},
		{ID: "GPU-bb", Index: 1, MIGEnabled: profile.Some(true)},
		{ID: "MIG-1", Parent: "GPU-bb"},
		{ID: "MIG-2", Parent: "GPU-bb", Index: 1},
	}
	for _, tt := range []struct {
		name, visible string // "-" is unset
		gpus          []nvmlx.DeviceID
		want, err     string
	}{
		{"all", "-", nil, "GPU-aa MIG-1 MIG-2", ""},
		{"by number", "-", []nvmlx.DeviceID{"1"}, "MIG-1 MIG-2", ""},
		{"by the beginning of an ID", "-", []nvmlx.DeviceID{"MIG-2", "GPU-a"}, "GPU-aa MIG-2", ""},
		{"none", "-", []nvmlx.DeviceID{"0", "7"}, "", `-gpus: there is no GPU "7"; there are 0 (GPU-aa)`},
		{"what a batch system leaves", "MIG-1", nil, "MIG-1", ""},
		{"-gpus wins", "MIG-1", []nvmlx.DeviceID{"0"}, "GPU-aa", ""},
		{"nothing is left", "NoDevFiles", nil, "", "CUDA_VISIBLE_DEVICES=NoDevFiles leaves no GPU"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("CUDA_VISIBLE_DEVICES", tt.visible)
			if tt.visible == "-" {
				if err := os.Unsetenv("CUDA_VISIBLE_DEVICES"); err != nil {
					t.Fatal(err)
				}
			}
			h := &gpus.Host{Devices: devices}
			chosen, err := h.Choose("-gpus", tt.gpus)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			var got []string
			for _, d := range h.Use(chosen) {
				got = append(got, string(d.ID))
			}
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("uses %q, %v", got, err)
			}
		})
	}
}

func TestDefaultStep(t *testing.T) {
	find := regexp.MustCompile(solo.Steps)
	for _, tt := range []struct{ line, step, total string }{
		{"step 12/100 loss=0.1", "12", "100"},
		{"Epoch 3 iter: 45", "45", ""},
		{"[batch 7 of 90]", "7", "90"},
		{"Iteration 8.", "8", ""},
		{"step 9, loss 3", "9", ""},
		{" 45%|████▌     | 45/100 [00:01<00:01, 38.5it/s, loss=0.5]", "45", "100"},
		{"Epoch 0: 100%|##########| 1563/1563 [00:12<00:00, 8.01it/s]", "1563", "1563"},
		{" 24%|##4       | 1.2k/5k [00:01<00:01]", "", ""},
		{"Epoch 3/10", "", ""},
		{"Epoch 3/10:  45%|####5     | 45/100 [00:01<00:01]", "45", "100"},
		{"Epoch 3 of 10, step 45/100", "45", "100"},
		{"batch size 128", "", ""},
		{"step 1.5 seconds", "", ""},
		{"2026/11/21 12:00:00 started", "", ""},
	} {
		step, total := "", ""
		if m := find.FindStringSubmatch(tt.line); m != nil {
			step, total = m[find.SubexpIndex("step")], m[find.SubexpIndex("total")]
			if epochs := m[find.SubexpIndex("epochs")]; (epochs == "10") != strings.HasPrefix(tt.line, "Epoch 3 of 10") && (epochs == "10") != strings.HasPrefix(tt.line, "Epoch 3/10:") {
				t.Errorf("%q: %q epochs", tt.line, epochs)
			}
		}
		if step != tt.step || total != tt.total {
			t.Errorf("%q: step %q of %q, want %q of %q", tt.line, step, total, tt.step, tt.total)
		}
	}
}
