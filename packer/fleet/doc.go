// Package fleet places tasks that reserve a fixed part of a node: so many cores, so
// much memory, a thousandth part of a GPU or several GPUs. It is the half of packing
// that needs no measurements. A [Fleet] chooses the node on which the share of GPUs
// that nobody can use grows least (fragmentation gradient descent), or by best fit,
// worst fit or at random.
//
//	mix, err := fleet.Mix(past, 0.95) // what demands were like so far
//	if err != nil {
//		return err
//	}
//	f, err := fleet.New(nodes, mix, nil)
//	if err != nil {
//		return err
//	}
//	slot, ok, err := f.Place(fleet.Demand{CPU: 4000, GPUs: 1, Share: 250})
//	// ... and when it ends
//	err = f.Release(slot, demand)
//
// The share that nobody can use is an expectation over the mix:
//
//	F(node) = Σ over demands m of fraction(m) · { all that is free      if m does not fit
//	                                            { Σ free(g) < share(m)  if it does
//
// Weng et al., Beware of fragmentation: scheduling GPU-sharing workloads with
// fragmentation gradient descent, USENIX ATC 2023.
package fleet
