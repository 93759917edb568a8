// Package plan says what to measure: which tasks alone and in which sets, under which
// mechanism, how often, in what order, and about how long that takes. It measures
// nothing.
package plan
