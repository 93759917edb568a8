// Package company says which nodes a pod may have by the pods that are there. It asks what three filters of the stock
// scheduler ask: InterPodAffinity, PodTopologySpread and NodePorts. A decision pins the pod to one node. The scheduler
// cannot choose another one then, so a decision must name a node that these filters take.
//
// An empty namespaceSelector of an affinity term is all namespaces. One that is not empty is taken for none: the labels
// of namespaces are not watched. The scheduler refuses such a pod where that matters.
package company
