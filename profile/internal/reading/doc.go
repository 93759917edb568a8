// Package reading is what readers of other programs' files have in common: lines within
// bounds, text in UTF-16, and warnings with their lines.
package reading
