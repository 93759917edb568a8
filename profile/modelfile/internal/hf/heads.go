package hf

import (
	"encoding/json"
	"errors"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// Head is what sits on top of a transformer.
type Head int

// What sits on top.
const (
	// DefaultHead is what published counts include.
	DefaultHead Head = iota
	// NoHead is the bare stack.
	NoHead
	// LanguageHead predicts tokens.
	LanguageHead
)

// Options are what a file does not say.
type Options struct {
	SequenceLength int // 0 is 512, or the most positions if that is less
	Head           Head
}

// tokens returns the sequence length and records it as the sample's size.
func (c *config) tokens(b *builder, o Options, positions int64) int64 {
	n := int64(o.SequenceLength)
	if n == 0 {
		n = min(positions, 512)
	}
	if n < 1 || n > maxConfig {
		c.faults = append(c.faults, errors.New("Options.SequenceLength is not from 1 to 2147483648"))
		n = 1
	}
	b.file.SampleElements = profile.Some(n)
	return n
}

// languageHead appends what a decoder ends in: the projection to the vocabulary,
// or the classifier that architectures names.
func (c *config) languageHead(b *builder, o Options, width, vocab, length int64, tied, bias bool) {
	classifier := o.Head == DefaultHead
	switch {
	case o.Head == NoHead, classifier && c.bare():
	case classifier && c.mentions("ForSequenceClassification") && c.has("encoder_layers"):
		b.linear("classification_head.dense", width, width, 1, true)
		b.linear("classification_head.out_proj", width, c.classes(), 1, true)
	case classifier && (c.mentions("ForSequenceClassification") || c.mentions("RewardModel")):
		b.linear("score", width, c.classes(), length, false)
	case classifier && c.mentions("ForTokenClassification"):
		b.linear("score", width, c.classes(), length, true)
	case classifier && c.mentions("ForQuestionAnswering"):
		b.linear("qa_outputs", width, 2, length, true)
	case tied:
		b.tied("lm_head", width, vocab, length)
	default:
		b.linear("lm_head", width, vocab, length, bias)
	}
}

// bare says whether architectures names the stack without a head.
func (c *config) bare() bool {
	var names []string
	_ = json.Unmarshal(c.find1("architectures"), &names) // or there are none
	if len(names) == 0 {
		return false
	}
	return strings.HasSuffix(names[0], "Model") && !strings.HasSuffix(names[0], "HeadModel") && !strings.Contains(names[0], "HeadsModel") &&
		c.modelType != "chatglm"
}

// headSize returns head_dim, or the width divided by the heads.
func (c *config) headSize(width, heads int64) int64 {
	if c.has("head_dim") {
		return c.need("head_dim")
	}
	if width%heads != 0 && len(c.faults) == 0 {
		c.faults = append(c.faults, errors.New("the width is not a multiple of the number of attention heads"))
	}
	return max(1, width/heads)
}

// mentions says whether an entry of architectures contains a word.
func (c *config) mentions(word string) bool {
	return strings.Contains(string(c.fields["architectures"]), word)
}

// maskedHead is the head of masked language models: its projection to the
// vocabulary reuses the word embedding and adds a bias for each word.
func (b *builder) maskedHead(width, vocab, length int64) {
	b.linear("cls.dense", width, width, length, true)
	b.activation("cls.activation", scan.Mul(width, length))
	b.norm("cls.norm", scan.Mul(2, width), scan.Mul(width, length))
	b.add(profile.Layer{
		Name: "cls.decoder", Kind: profile.Linear, Neurons: vocab, Params: vocab,
		Activations: scan.Mul(vocab, length), MACs: profile.Some(scan.Mul(scan.Add(width, 1), vocab, length)),
	})
}

// encoderHead appends what architectures, or Options.Head, puts on an encoder;
// the pooler where neither says anything, as published counts have it.
func (c *config) encoderHead(b *builder, o Options, width, vocab, length int64) {
	def, roberta := o.Head == DefaultHead, strings.Contains(c.modelType, "roberta") || c.modelType == "camembert"
	poolerless := c.modelType == "distilbert" || c.modelType == "deberta-v2" || c.modelType == "electra" || c.modelType == "dpr"
	pooler := func() {
		b.linear("pooler", width, width, 1, true)
		b.activation("pooler.activation", width)
	}
	switch {
	case o.Head == NoHead:
	case def && c.mentions("ForSequenceClassification"):
		if !roberta || poolerless {
			pooler()
		} else {
			b.linear("classifier.dense", width, width, 1, true)
		}
		b.linear("classifier", width, c.classes(), 1, true)
	case def && c.mentions("ForTokenClassification"):
		b.linear("classifier", width, c.classes(), length, true)
	case def && c.mentions("ForQuestionAnswering"):
		b.linear("qa_outputs", width, 2, length, true)
	case def && c.modelType == "electra":
		if c.mentions("ForPreTraining") {
			b.linear("discriminator.dense", width, width, length, true)
			b.linear("discriminator.prediction", width, 1, length, true)
		}
	case def && c.mentions("ForPreTraining") && !poolerless:
		pooler()
		b.linear("cls.seq_relationship", width, 2, 1, true)
		b.maskedHead(width, vocab, length)
	case o.Head == LanguageHead, def && c.mentions("MaskedLM"):
		b.maskedHead(width, vocab, length)
	case !poolerless:
		pooler()
	}
}

// labels returns the number of classes of a classifier, or 0.
func (c *config) labels() int64 {
	if !c.mentions("ForImageClassification") {
		return 0
	}
	return c.classes()
}
