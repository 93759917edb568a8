// Package procgroup starts programs in process groups of their own, so that
// Ctrl-C at the terminal reaches the program that started them alone, and ends
// them together with what they started.
package procgroup
