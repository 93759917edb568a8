// Package keep writes small states to files, each whole or not at all.
package keep
