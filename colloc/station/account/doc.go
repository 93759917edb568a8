// Package account sums up what each user had of a station in a period, for people who
// have to divide the cost of a machine, as rows and as CSV.
package account
