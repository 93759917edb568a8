// Package interleave says which tasks take turns well, in the manner of Muri.
package interleave
