// Package regular opens what others may have put in the place of a file.
package regular
