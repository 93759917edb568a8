// Package num computes with numbers so that every machine gives the same bits,
// and files stay short.
package num
