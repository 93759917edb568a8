package books

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SetNode takes in a node that is new or changed.
func (b *Books) SetNode(n *corev1.Node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cluster.SetNode(n)
}

// DropNode takes in that a node is gone. What was placed there keeps its place in case
// that the node comes back.
func (b *Books) DropNode(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cluster.DropNode(name)
}

// SetSlice takes in a ResourceSlice that is new or changed.
func (b *Books) SetSlice(s *resourcev1.ResourceSlice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cluster.SetSlice(s)
}

// DropSlice takes in that a ResourceSlice is gone.
func (b *Books) DropSlice(s *resourcev1.ResourceSlice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cluster.DropSlice(s)
}

// SetClaim takes in a ResourceClaim, new or changed: nobody is placed on a card that one
// of somebody else holds, for nobody knows what its pods do there.
func (b *Books) SetClaim(c *resourcev1.ResourceClaim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cluster.SetClaim(c)
}

// DropClaim takes in that a ResourceClaim is gone.
func (b *Books) DropClaim(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cluster.DropClaim(uid)
}
