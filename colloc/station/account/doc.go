// Package account sums up what each user had of a station in a period, as rows and as
// CSV. It is for people who have to divide the cost of a machine.
package account
