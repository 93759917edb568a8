// Package evict evicts pods by the Eviction API, which heeds disruption budgets, and not
// too many within a while. Who has to go, and why, is decided elsewhere.
package evict
