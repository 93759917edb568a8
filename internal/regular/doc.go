// Package regular reads what others may have put in the place of a file: it waits for nobody, and knows an end.
package regular
