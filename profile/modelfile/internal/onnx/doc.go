// Package onnx reads ONNX graphs.
package onnx
