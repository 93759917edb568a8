// Package scan reads model files within bounds: forward with an offset, line by line, as
// protobuf, with counts that saturate.
package scan
