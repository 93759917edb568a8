// Package decide is colloc decide: the HTTP API of package colloc/decide by itself, with a
// session that other schedulers drive.
package decide
