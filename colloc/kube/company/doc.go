// Package company says which nodes a pod may have by the pods that are there: what the stock scheduler's
// filters InterPodAffinity, PodTopologySpread and NodePorts ask, before a decision pins the pod to a node that
// they refuse. Pinned pods have one node to choose, so that the scheduler's own filter keeps no spread; this one
// does. Of affinity terms the namespaceSelector is taken for all namespaces if it is empty, and else for none: who
// sets one is refused by the scheduler where it matters.
package company
