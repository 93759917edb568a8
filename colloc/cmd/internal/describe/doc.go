// Package describe is the command colloc describe: it prints what colloc understands of model files: ONNX, safetensors,
// GGUF, Hugging Face config.json, Keras, and the text of torchsummary, torchinfo
// or print(model).
//
//	colloc describe config.json model.onnx
//	colloc describe -batch 32 -gpu A100 profile/modelfile/testdata/resnet50.txt
//	colloc describe -json *.txt
//
// For each file it prints the layers by kind, the parameters, the activations at
// a batch with the other parts of a training step's memory, and what the reader
// left out or assumed. With -json it prints one object a line: file, format,
// params, layers, activations_per_sample and warnings, among others.
//
// Exit status: 0 on success, 2 for input that cannot be understood; then nothing
// is written to standard output.
package describe
