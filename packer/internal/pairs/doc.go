// Package pairs plans sets of at most two: matchings at prices for the kinds of GPU,
// which it searches for, and plans repaired from them.
//
// One kind is priced exactly, by bisection of a concave function; several kinds by
// a level method, with a certified gap. [Pack] is all that others see.
package pairs
