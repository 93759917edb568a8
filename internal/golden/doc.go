// Package golden compares what a test got with a file in its folder testdata. The flag
// -update of the test writes the file anew, for a person to look at.
package golden
