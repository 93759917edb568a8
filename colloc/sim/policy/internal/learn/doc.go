// Package learn improves predicted speeds by those that were measured.
package learn
