// Package columns plans by column generation: a linear program over the sets found so
// far, solved by the simplex method, prices that bring in more sets, the bound that they
// prove, and the plan that is rounded and repaired from it.
package columns
