package torchprint

import "strings"

// tie says whether a head has weights of its own.
type tie int

const (
	either   tie = iota // the text does not tell
	shared              // those of the embedding
	separate            // its own
)

// The models of the transformers library that always tie their heads, and those that
// do not, by how their classes begin; the first word of the wide is tied in small
// members of its family and separate in large ones.
const (
	alwaysTied = "GPT2 GPTNeoFor GPTNeoModel GPTBigCode Bert Roberta XLMRoberta Camembert DistilBert Electra Albert OPT Gemma Bart MBart Marian Bloom Mpt MPT Whisper Cohere Starcoder2 Deberta"
	neverTied  = "GPTNeoX Mistral Mixtral GPTJ CodeGen MT5"
	wide       = "Llama Qwen Olmo Phi"
	wideFrom   = 3584 // width
)

// ties says it of a layer with the shape of the embedding, by its name and the model's
// class.
func ties(classes []string, name string, width int64) tie {
	within := func(words string) bool {
		for _, class := range classes {
			for word := range strings.FieldsSeq(words) {
				if strings.HasPrefix(class, word) {
					return true
				}
			}
		}
		return false
	}
	head := name == "lm_head" || name == "decoder" || name == "output_projection"
	switch {
	case name == "proj_out" && within("Whisper"), head && within(alwaysTied):
		return shared
	case !head, within(neverTied), within(wide) && width >= wideFrom:
		return separate
	}
	return either
}
