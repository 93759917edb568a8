package draft

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// TestFamilies: a word of three letters counts where it is a word of the name, and a class
// called attention where there are few convolutions.
func TestFamilies(t *testing.T) {
	for root, want := range map[string]profile.Family{
		"BARTModel": profile.Transformer, "SQUEEZENET": profile.CNN, "opt": profile.Transformer, "MyViTModel": profile.Transformer, "Xa_opt": profile.Transformer, "x-opt_2": profile.Transformer,
		"AOPTModel": profile.UnknownFamily, "ZOPTModel": profile.UnknownFamily, "aopt": profile.UnknownFamily, "zopt": profile.UnknownFamily,
		"Opta": profile.UnknownFamily, "Optz": profile.UnknownFamily, "[gpt]": profile.Transformer, "`phi{": profile.Transformer, "@opt@": profile.Transformer,
	} {
		if got := FamilyOfClasses(root, slices.Values([]string(nil))); got != want {
			t.Errorf("%s is %v, want %v", root, got, want)
		}
	}
	for classes, want := range map[string]profile.Family{
		"Conv2d Conv2d Conv2d SpatialAttention":                   profile.Transformer,
		"Conv2d Conv2d Conv2d Conv2d SpatialAttention":            profile.UnknownFamily,
		"Conv2d Conv2d Conv2d Conv2d WindowSelfAttention":         profile.Transformer,
		"Linear Linear Linear Linear Attention":                   profile.Transformer,
		"Conv1D Conv1D Conv1D Conv1D Attention":                   profile.Transformer, // dense layers
		"Linear AttentionPool Linear Linear Linear Linear Linear": profile.UnknownFamily,
	} {
		if got := FamilyOfClasses("Net", strings.FieldsSeq(classes)); got != want {
			t.Errorf("%s are %v, want %v", classes, got, want)
		}
	}
}

// TestBounds: the largest number of layers and of warnings is reached, not passed.
func TestBounds(t *testing.T) {
	f := Draft{Model: profile.Model{Layers: make([]profile.Layer, scan.MaxLayers-2, scan.MaxLayers)}}
	f.MissingParams("rest", 7)
	if err := f.Add(profile.Layer{Name: "last"}); err != nil {
		t.Error(err)
	}
	f.MissingParams("more", 7)
	if err := f.Add(profile.Layer{}); err == nil || !strings.Contains(err.Error(), "more than 262144 layers") {
		t.Errorf("one more: %v", err)
	}
	if len(f.Model.Layers) != scan.MaxLayers || f.Model.Params() != 7 {
		t.Errorf("%d layers with %d parameters", len(f.Model.Layers), f.Model.Params())
	}
	for i := range reading.MaxWarnings + 5 {
		f.Warn(i, "warning %d", i)
	}
	last := f.Warnings[len(f.Warnings)-2:]
	if want := "[{99 warning 99} {100 further warnings are left out}]"; fmt.Sprint(last) != want {
		t.Errorf("got %v, want %s", last, want)
	}
}

// TestAdapters: all but the adapters is frozen where there is anything else.
func TestAdapters(t *testing.T) {
	for names, want := range map[string]int64{ // what is trained
		"body LoRA_A.default":                    1,
		"body head":                              2,
		"lora_A lora_B":                          2,
		"body head base.modules_to_save.default": 1,
	} {
		var f Draft
		for name := range strings.FieldsSeq(names) {
			if err := f.Add(profile.Layer{Name: name, Params: 1}); err != nil {
				t.Fatal(err)
			}
		}
		f.FreezeBesideAdapters()
		for _, w := range f.Warnings {
			if text := fmt.Sprintf("adapters found: they alone count as trained, %d of %d parameters", want, f.Model.Params()); w != (reading.Warning{Text: text}) {
				t.Errorf("got %v, want %s", w, text)
			}
		}
		if got := f.Model.Trainable(); got != want || (len(f.Warnings) > 0) != (want < f.Model.Params()) {
			t.Errorf("%s: %d are trained, want %d; %v", names, got, want, f.Warnings)
		}
	}
}
