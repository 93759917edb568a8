// Package docs tests what README.md and docs/ say: commands run, output is what they
// print, Go is compiled somewhere, links lead somewhere.
package docs
