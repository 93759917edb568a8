// Package golden compares what a test got with a file in its folder testdata. The flag
// -update of the test writes the file anew, for a person to look at. Of a JSON document it
// can hold the table of what each value may be instead, see [Leaves].
package golden
