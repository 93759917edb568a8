package modelfile

import (
	"encoding/binary"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

var statedParams = regexp.MustCompile(`(?m)^\s*Total params:\s*([\d,]+)`)

// truth is how many parameters a file's model has by other means than the reader:
// what the file states, a sum over its weights, or what is published of a model of
// its name.
func truth(category, path string, data []byte) (int64, bool) {
	switch category {
	case "torchinfo", "summaries":
		if m := statedParams.FindSubmatch(data); m != nil {
			n, err := strconv.ParseInt(strings.ReplaceAll(string(m[1]), ",", ""), 10, 64)
			return n, err == nil
		}
	case "onnx":
		_, weights, _ := countONNX(data)
		return weights, true
	case "safetensors":
		return countSafetensors(data)
	case "hf", "keras":
		for _, p := range published {
			if strings.Contains(path, p.name) {
				return p.params, true
			}
		}
	}
	return 0, false
}

// published are counts of model cards, of papers and of the transformers library;
// those that end in zeros are rounded by their publishers. Multimodal models stand
// with their text model, which is what is described of them.
var published = []struct {
	name   string
	params int64
}{
	{"Qwen3-235B-A22B", 235_093_634_560},
	{"Qwen3-30B-A3B", 30_532_122_624},
	{"Qwen3-32B", 32_762_123_264},
	{"Qwen3-Coder-480B", 480_154_875_392},
	{"Qwen3.5-27B", 27_000_000_000},
	{"Qwen3.5-35B-A3B", 35_000_000_000},
	{"qwen3-14b", 14_768_307_200},
	{"qwen2.5-7b", 7_615_616_512},
	{"MiMo-V2-Flash", 309_000_000_000},
	{"DeepSeek-R1", 671_026_419_200},
	{"DeepSeek-V3.", 671_877_944_064},
	{"Kimi-K2", 1_026_408_232_448},
	{"GLM-5", 744_000_000_000},
	{"MiniMax-M2.5", 228_703_644_928},
	{"gpt-oss-120b", 116_829_156_672},
	{"gpt-oss-20b", 20_914_757_184},
	{"Llama-4-Maverick", 400_700_000_000},
	{"Llama-4-Scout", 107_770_000_000},
	{"Llama-3.1-405B", 405_853_388_800},
	{"Llama-3.1-8B", 8_030_261_248},
	{"llama-3.1-8b", 8_030_261_248},
	{"llama-3.1-70b", 70_553_706_496},
	{"Nemotron-Super-49B", 49_867_145_216},
	{"Nemotron-H-56B", 56_300_000_000},
	{"Nemotron-3-Super-120B", 120_600_000_000},
	{"Nemotron-3-Ultra-550B", 550_000_000_000},
	{"Nemotron-3-Nano-30B", 31_600_000_000},
	{"Mixtral-8x22B", 140_620_634_112},
	{"ixtral-8x7", 46_702_792_704},
	{"yi-34b", 34_388_917_248},
	{"falcon-40b", 41_303_293_952},
	{"BART__configs__config", 406_291_456},
	{"albert-base-v1", 11_683_584},
	{"bert-base-config", 109_514_298}, // with the masked head
	{"whisper-large-v3", 1_543_490_560},
	{"whisper-small", 241_734_912},
	{"deberta-v3-base", 183_831_552},
	{"mpt-7b", 6_649_286_656},
	{"imdb_lstm", 2_691_713},
	{"mnist_mlp_constraint", 932_362},
	{"mnist_mlp", 669_706},
	{"mnist_cnn_reshape", 746_538},
	{"mnist_cnn_no_bias_tf_keras_2", 1_199_882 - 32 - 64},
	{"mnist_cnn_no_bias", 600_810 - 32 - 32 - 128 - 10},
	{"mnist_cnn_tf_keras_2", 1_199_882},
	{"mnist_cnn_th_keras_2", 1_199_882},
	{"mnist_cnn", 600_810},
	{"imdb_fasttext", 1_000_051},
	{"KERAS_3layer.json", 4_389},
	{"qkeras_3layer", 4_389},
	{"qkeras-v3_3layer", 4_389},
}

// countSafetensors adds up the floating-point tensors of a header.
func countSafetensors(data []byte) (n int64, ok bool) {
	if len(data) < 8 {
		return 0, false
	}
	size := binary.LittleEndian.Uint64(data)
	var header map[string]struct {
		Type  string  `json:"dtype"`
		Shape []int64 `json:"shape"`
	}
	if size > uint64(len(data)-8) || json.Unmarshal(data[8:8+size], &header) != nil {
		return 0, false
	}
	for _, e := range header {
		if strings.HasPrefix(e.Type, "F") || strings.HasPrefix(e.Type, "BF") {
			each := int64(1)
			for _, d := range e.Shape {
				each *= d
			}
			n += each
		}
	}
	return n, true
}

// countONNX walks a model's protobuf without knowing more than field numbers:
// nodes of all graphs, elements of their floating-point tensors that are no
// scalars, and nodes that are layers.
func countONNX(model []byte) (nodes int, weights int64, layers int) {
	var graph func([]byte)
	tensor := func(b []byte) {
		elements, dims, kind := int64(1), 0, uint64(0)
		fields(b, func(number int, value uint64, inner []byte) {
			switch {
			case number == 1 && inner != nil: // packed
				for len(inner) > 0 {
					d, n := binary.Uvarint(inner)
					if n <= 0 {
						return
					}
					elements, dims, inner = elements*int64(d), dims+1, inner[n:]
				}
			case number == 1:
				elements, dims = elements*int64(value), dims+1
			case number == 2:
				kind = value
			}
		})
		if dims > 0 && (kind == 1 || kind == 10 || kind == 11 || kind >= 16 && kind <= 20) {
			weights += elements
		}
	}
	graph = func(b []byte) {
		fields(b, func(number int, _ uint64, inner []byte) {
			switch number {
			case 5:
				tensor(inner)
			case 1:
				nodes++
				op := ""
				fields(inner, func(number int, _ uint64, part []byte) {
					switch number {
					case 4:
						op = string(part)
					case 5:
						fields(part, func(number int, _ uint64, value []byte) {
							switch {
							case number == 5 && op == "Constant":
								tensor(value)
							case number == 6 || number == 11:
								graph(value)
							}
						})
					}
				})
				switch op {
				case "Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN", "BatchNormalization", "LayerNormalization", "Attention":
					layers++
				}
			}
		})
	}
	fields(model, func(number int, _ uint64, inner []byte) {
		if number == 7 {
			graph(inner)
		}
	})
	return nodes, weights, layers
}

// fields visits the fields of a protobuf message; what is no message ends it.
func fields(b []byte, visit func(number int, value uint64, inner []byte)) {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return
		}
		b = b[n:]
		switch tag & 7 {
		case 0:
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return
			}
			b = b[n:]
			visit(int(tag>>3), v, nil)
		case 1, 5:
			width := map[uint64]int{1: 8, 5: 4}[tag&7]
			if len(b) < width {
				return
			}
			b = b[width:]
		case 2:
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return
			}
			visit(int(tag>>3), 0, b[n:n+int(size)])
			b = b[n+int(size):]
		default:
			return
		}
	}
}
