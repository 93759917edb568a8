package modelfile_test

import (
	"strings"
	"testing"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile"
)

// TestUnclearCounts: where the text does not tell how many parameters there are, the
// specification says unknown, and is one that can be used.
func TestUnclearCounts(t *testing.T) {
	for name, text := range map[string]string{
		"torchinfo counts twice": `Layer (type:depth-idx)     Output Shape        Param #
======================================================
Net                        [32, 10]            --
├─Linear: 1-1         [32, 128]           100,480
├─ReLU: 1-2           [32, 128]           --
├─Linear: 1-3         [32, 10]            1,290
======================================================
Total params: 50,000
`,
		"a head with a bias that may be tied": `PhiForCausalLM(
  (model): PhiModel(
    (embed_tokens): Embedding(51200, 2560)
    (layers): ModuleList(
      (0-31): 32 x PhiDecoderLayer(
        (self_attn): PhiAttention(
          (q_proj): Linear(in_features=2560, out_features=2560, bias=True)
        )
      )
    )
  )
  (lm_head): Linear(in_features=2560, out_features=51200, bias=True)
)
`,
		"two heads that may be tied": `GPTXForCausalLM(
  (model): M(
    (embed_tokens): Embedding(100, 8)
  )
  (lm_head): Linear(in_features=8, out_features=100, bias=False)
  (mtp): H(
    (lm_head): Linear(in_features=8, out_features=100, bias=False)
  )
)
`,
	} {
		f, err := modelfile.Read(strings.NewReader(text), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		spec := f.Spec(8)
		if err := spec.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if f.Model.Unknown()&profile.ParamCounts == 0 {
			t.Errorf("%s: the parameters count as known", name)
		}
	}
}
