// Package start makes first plans: greedy ones, the best without sharing, and the one
// that leaves every task where it runs. Searches begin with them.
package start
