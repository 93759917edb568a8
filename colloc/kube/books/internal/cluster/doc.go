// Package cluster is what there is of a cluster and who is where: nodes and their cards,
// pods of ours with what was decided for them, and what pods and claims of others take.
// Its ledger has the bookings of the cards that are there; pods carry their decisions
// whether a card is there or not. It decides nothing and locks nothing.
package cluster
