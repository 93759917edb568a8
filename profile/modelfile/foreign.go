package modelfile

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrFormat says that a file is in no format that this package reads.
var ErrFormat = errors.New("format not recognised; want ONNX, safetensors, GGUF, a Hugging Face config.json, " +
	"Keras JSON, .keras, or text of torchsummary, torchinfo, model.summary() or print(model)")

// foreign names the formats that people have and that cannot be read here, by
// their first bytes, and what to do instead.
//
//nolint:gochecknoglobals // read-only table
var foreign = []struct{ magic, is string }{
	{"version https://git-lfs", "a Git LFS pointer: the file itself was not fetched; run git lfs pull"},
	{"\x89HDF\r\n\x1a\n", "HDF5, as Keras's .h5: save the model as .keras, or write model.to_json()"},
	{"\x80\x02", "a Python pickle, as torch.save of old versions writes: print the model by torchinfo at depth=99, or export safetensors"},
	{"Kaldi", "a Kaldi model"},
	{"TFL3", "TensorFlow Lite"},
	{"<?xml", "XML: describe reads models; a log of nvidia-smi -q -x is read by package tracefile"},
}

// foreignFault tells what a file is that no reader knows; nil is not known either.
func foreignFault(head []byte) error {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return fmt.Errorf("%s: %w", f.is, ErrFormat)
		}
	}
	switch {
	case len(head) == 0:
		return fmt.Errorf("the file is empty: %w", ErrFormat)
	case len(head) > 8 && string(head[4:8]) == "TFL3":
		return fmt.Errorf("TensorFlow Lite: %w", ErrFormat)
	case isSavedModel(head):
		return fmt.Errorf("a TensorFlow SavedModel: write model.to_json(), or export ONNX: %w", ErrFormat)
	case isLink(head):
		return fmt.Errorf("a path, as git stores a symbolic link where it cannot make one: the file itself is elsewhere: %w", ErrFormat)
	}
	return nil
}

// isLink recognises one path and nothing else.
func isLink(head []byte) bool {
	path := bytes.TrimRight(head, "\r\n")
	return (bytes.HasPrefix(path, []byte("../")) || bytes.HasPrefix(path, []byte("./"))) && !bytes.ContainsAny(path, " \t\r\n\x00{")
}

// isSavedModel recognises saved_model.pb: schema version 1, then a meta graph that
// names TensorFlow's operations.
func isSavedModel(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\x08\x01\x12")) && (bytes.Contains(head, []byte("NoOp")) ||
		bytes.Contains(head, []byte("VarHandleOp")) || bytes.Contains(head, []byte("saved_model")) || bytes.Contains(head, []byte("AssignVariableOp")) ||
		bytes.Contains(head, []byte("Placeholder")))
}
