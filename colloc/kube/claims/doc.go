// Package claims binds a decision so that the scheduler counts it: one ResourceClaim per
// pod, which asks for the chosen device and for the reservation as consumed capacity.
//
// The pod's annotations stay the decision; the claim follows from them alone, its name
// too, so that it can be made again by whoever finds it missing, and two who make it make
// the same. A pod that is to be bound so has a resource claim of the template [Template],
// which does not exist: nobody else makes a claim for it.
package claims
