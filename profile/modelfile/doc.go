// Package modelfile reads the descriptions of models that people already have
// into a [profile.Model]: a flat list of leaves with parameters, activations and
// multiply-adds. It needs no Python and never loads a weight.
//
// [Read] and [ReadFile] recognise the format from the first bytes. Every reader
// is bounded: 64 MiB of text, or of the names and shapes of a binary file, 16 MiB
// of JSON, 64 KiB a line or name, 262,144 leaves and containers 64 deep. Real files
// stay far below; beyond that, and for damaged input, it returns an error that
// names the line or the offset. What a reader could not understand but could do without is a
// [Warning].
//
// # What is counted
//
// Parameters are trained parameters, each once: a layer that reuses the weights
// of another has none of its own. Activations are output elements for one
// sample. Multiply-adds are those of the forward pass for one sample; a bias
// counts as one multiply-add for each output element, so that a dense layer or a
// convolution has parameters times output positions of them, and a norm one for
// each element. Views, reshapes and sums between layers are not layers.
package modelfile
