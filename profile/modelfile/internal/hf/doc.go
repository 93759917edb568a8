// Package hf builds the leaves of the networks that a config.json of the transformers
// library names.
package hf
