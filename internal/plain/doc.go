// Package plain makes text of other programs safe to show on a terminal.
package plain
