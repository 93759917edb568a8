// Package pods reads what a pod is to colloc: its task, how far its decision has come,
// whether a node may take it, and the patch that binds it to a card.
package pods
