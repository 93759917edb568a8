package modelfile

import (
	"fmt"

	"example.com/colloc/profile"
)

// Format is a model file format.
type Format int

// The formats that [Read] recognises.
const (
	// UnknownFormat is none of those below.
	UnknownFormat Format = iota
	// TorchSummary is the table that the Python package torchsummary prints:
	//
	//	        Layer (type)               Output Shape         Param #
	//	================================================================
	//	            Conv2d-1         [-1, 64, 112, 112]           9,408
	//
	// with an open batch ([-1, ...]) or a stated one ([32, ...]). Text before and
	// after the table is ignored; of several tables the first is read.
	//
	// torchsummary prints every module that runs, containers too. A row of an
	// unknown class without parameters counts as a container and is left out, which
	// a warning says. It counts only what a module calls weight and bias: the
	// parameters of recurrent layers and of MultiheadAttention are not in its table,
	// and a module that runs twice is in it twice. O(size).
	TorchSummary
	// HuggingFace is a config.json as the transformers library writes it. [Read]
	// builds the leaves that the library would: the parameter count is exact for
	// the model types
	//
	//	albert, baichuan, bart, bert, bloom, camembert, chatglm, clip, codegen, cohere, deberta-v2, deepseek_v2, deepseek_v3,
	//	deepseek_v32, deit, distilbert, dpr, electra, falcon, gemma, gemma2, gemma3_text, glm_moe_dsa, gpt2, gpt_bigcode, gptj,
	//	gpt_neo, gpt_neox, gpt_oss, granite, internlm2, kimi_k2, llama, llama4_text, marian, mbart, mistral, mixtral, mpt, mt5,
	//	nemotron_h, nemotron-nas, olmo2, olmoe, opt, phi, phi3, qwen, qwen2, qwen2_moe, qwen3, qwen3_5_text, qwen3_5_moe_text,
	//	qwen3_moe, qwen3_next, roberta, smollm3, stablelm, starcoder2, t5, vit, whisper, xlm-roberta
	//
	// and within a hundredth for mimo_v2_flash and minimax_m2. Any other type, and a known one with a
	// setting that makes it another network, is refused with the reason. Of a type
	// that holds several models the text model is described and the others are
	// unknown. What stands on top follows architectures: a classifier, a language
	// model's head, an encoder alone. Infinity and NaN, which Python writes, are read.
	// Tied weights are counted once, where they are first used. Activations are for
	// one sample of Options.SequenceLength tokens, or one image. An Attention leaf
	// stands for scores and softmax: heads × queries × keys elements, and
	// 2 × queries × keys × width multiply-adds for scores and mix (no saving for
	// causal masks is assumed). O(layers).
	HuggingFace
	// Safetensors is a file of weights.
	//
	// [Read] takes the header of a safetensors file: names, types and
	// shapes of its tensors, never their data. The tensors of one module make one
	// layer, whose kind is guessed from name and rank; integer tensors and known
	// buffers are not parameters. TotalParams counts all elements, buffers too.
	// The format is described at https://github.com/huggingface/safetensors.
	// O(header).
	Safetensors
	// SafetensorsIndex is the list of the shards of a large model's weights.
	SafetensorsIndex
	// GGUF is a file of weights for llama.cpp and its relatives.
	//
	// [Read] takes the head of a GGUF file, versions 2 and 3: metadata and the
	// names and shapes of its tensors, never their data. Layers are made as
	// [Safetensors] makes them; quantised tensors count their elements. A model
	// without an output tensor ties it to the token embedding, which a warning says.
	// The format is described at https://github.com/ggml-org/ggml (docs/gguf.md).
	// O(head).
	GGUF
	// ONNX is a graph in the Open Neural Network Exchange format.
	//
	// [Read] takes the graph of an ONNX model: its nodes and the shapes of its
	// initializers, whose data it skips. The protobuf messages are those of
	// https://github.com/onnx/onnx (onnx.proto3).
	//
	// A leaf is a node that computes (convolution, product, normalisation,
	// activation, pooling, attention) or holds parameters. The mean and variance of
	// BatchNormalization are statistics, not parameters; TotalParams counts all
	// floating-point initializers, these included, which a warning says.
	// Activations come from the shapes that the file states (value_info), or follow
	// from the input's shape for convolutional networks; a warning counts the layers
	// for which neither tells. Branches inside If and Loop are left out.
	// O(graph); with a reader that can seek, weights cost nothing.
	ONNX
	// TorchInfo is the tree that the Python package torchinfo prints, with
	// any choice of columns and row settings that includes Param #:
	//
	//	Layer (type:depth-idx)          Output Shape              Param #
	//	==================================================================
	//	Net                             [32, 10]                  --
	//	├─Conv2d: 1-1                   [32, 16, 28, 28]          160
	//
	// Leaves are the rows without rows below them; a container that holds
	// parameters of its own gives one more leaf. A module that runs again
	// ("(recursive)") works again but has its parameters counted once. Parameters
	// in brackets are frozen; where the stated number of trainable ones is smaller
	// than that leaves, the rest is frozen in proportion. The batch is what most
	// leaves have as their first dimension.
	//
	// Multiply-adds are counted as torchinfo counts them, so that the leaves add up to
	// the total that it states: those of a norm, and of a class that is not known, are
	// its parameters once a sample. Of two tables of one model the one that shows
	// shapes, or more, is read.
	//
	// At its default depth torchinfo cuts containers off. What the table states as
	// forward/backward pass size and as multiply-adds then tells what they hold:
	// twice the outputs of layers with parameters, of which the rows that are shown
	// are taken away. Without these totals the activations of such rows are unknown.
	// Warnings say so. O(size).
	TorchInfo
	// TorchPrint is what PyTorch's print(model) prints, also with a parameter
	// count behind each module:
	//
	//	Net(
	//	  (fc): Linear(in_features=784, out_features=10, bias=True), 7,850 params
	//	), 7,850 params
	//
	// Where no count is printed it follows from the printed arguments. Repeated
	// blocks ("(0-11): 12 x Block(") are written out. Parameters are those of the
	// leaves: containers, which some dumps count again and again, are not added. A
	// dense layer called lm_head, decoder or output_projection with the shape of an earlier embedding counts as tied to it, unless the model is of a kind
	// that does not tie (Llama, Mistral, Mixtral, Phi, GPT-NeoX, Falcon, OLMo), and an
	// embed_tokens of the shape of an embedding called shared is that one; warnings
	// say so. The text tells no shapes, hence no activations. O(size).
	TorchPrint
	// Keras is the JSON of a Keras model, or a .keras archive that holds it.
	//
	// [Read] takes the architecture of a Keras 2 or 3 model: the JSON that
	// to_json writes, or a .keras archive, of which it opens config.json alone.
	// Sequential and Functional models, also nested ones, are followed layer by
	// layer; parameters follow from layer settings and shapes and are exact for
	// dense, convolution (depthwise and separable too), normalisation, embedding,
	// recurrent and MultiHeadAttention layers. The moving statistics of
	// BatchNormalization are not parameters. A layer of another class is of unknown
	// kind and without parameters, and passes its input's shape on; a warning names
	// the class. O(layers).
	Keras
	// KerasSummary is the table that Keras's model.summary() prints, with
	// blanks between the columns (Keras 2) or lines (Keras 3):
	//
	//	Layer (type)                Output Shape              Param #
	//	=================================================================
	//	conv2d (Conv2D)             (None, 26, 26, 32)        320
	//
	// A name or shape that goes on in the next line is put together again. The
	// statistics of a batch normalisation count as frozen parameters, as in Keras's
	// own totals, and so does what the stated number of non-trainable ones leaves
	// over. A layer that holds others stands as one leaf; a shape with an open
	// dimension makes its activations unknown. O(size).
	KerasSummary

	formats int = iota
)

// File is what was understood of one model file.
type File struct {
	// Format is the format that was read.
	Format Format
	// Model holds the leaves. Its Name is Options.Name if that is set, else
	// what the file says, else empty.
	Model profile.Model
	// TotalParams is the total that the file itself states; missing where the
	// format states none. Model.Params is what the leaves add up to.
	TotalParams profile.Opt[int64]
	// SampleElements is the number of input elements of one sample, where the
	// file tells: tokens, or pixels times channels.
	SampleElements profile.Opt[int64]
	// BatchSize is the batch that the file was made with; missing where it
	// leaves the batch open.
	BatchSize profile.Opt[int]
	// Warnings are what the reader left out or had to assume.
	Warnings []Warning
}

// Spec returns a specification of a task that trains the model with a batch
// size: the model, its sample size and the warnings from the file, all else at
// the zero value.
func (f *File) Spec(batchSize int) profile.Spec {
	var warnings []string
	for _, w := range f.Warnings {
		warnings = append(warnings, w.String())
	}
	return profile.Spec{
		Warnings: warnings,
		Model:    f.Model,
		Dataset:  profile.Dataset{SampleElements: f.SampleElements},
		Training: profile.Training{BatchSize: batchSize},
	}
}

// Warning is something a reader left out or had to assume.
type Warning struct {
	// Line is the line it concerns, from 1; 0 is the file as a whole.
	Line int
	// Text says what and why.
	Text string
}

// String returns the text, after the line where there is one.
func (w Warning) String() string {
	if w.Line > 0 {
		return fmt.Sprintf("line %d: %s", w.Line, w.Text)
	}
	return w.Text
}

// Head is what sits on top of a transformer.
type Head int

// Heads of transformers described by a config.json.
const (
	// DefaultHead is what the published parameter count includes: the language
	// model head for decoders and encoder-decoders, the pooler for encoders,
	// the classifier for vision models that name their labels.
	DefaultHead Head = iota
	// NoHead is the bare stack.
	NoHead
	// LanguageHead predicts tokens; for an encoder this is the masked language
	// model head without the pooler.
	LanguageHead
)

// Options set what a file does not say. The zero value, or nil, is ready to use.
type Options struct {
	// Name is the model's name; empty takes what the file says.
	Name string
	// SequenceLength is the number of tokens in one sample of a language model
	// that a config.json describes; 0 means 512 or the model's largest number
	// of positions, whichever is less. Encoder and decoder get the same length.
	SequenceLength int
	// Head is what sits on top of a transformer that a config.json describes.
	Head Head
}
