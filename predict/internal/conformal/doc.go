// Package conformal turns errors on rows that a fit has not seen into bounds that
// hold for new rows, whatever the distribution of the errors.
package conformal
