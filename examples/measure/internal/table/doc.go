// Package table is the tidy table: one row per task and run, with units and meaning of each
// column, as CSV. README.md of the program repeats the columns, and package
// predict/dataset reads them.
package table
