package cluster

import "slices"

// KeptFor is the pod or the gang for which a card is kept; empty is nobody.
func (cl *Cluster) KeptFor(d *Card) string {
	for key, ids := range cl.Rooms {
		if slices.Contains(ids, d.GPU.ID) {
			return key
		}
	}
	return ""
}

// DropRoom takes back what was kept for a pod or its gang.
func (cl *Cluster) DropRoom(e *Entry) {
	delete(cl.Rooms, string(e.Pod.UID))
	delete(cl.Rooms, e.Gang.Key)
}

// keptText says why a card is not there for others.
const keptText = "it is kept for a pod of higher priority"

// KeptAway notes that a card is kept for somebody else than a key.
func (cl *Cluster) KeptAway(d *Card, key string, shut map[string]int) bool {
	if len(cl.Rooms) == 0 {
		return false
	}
	other := cl.KeptFor(d)
	if other == "" || other == key {
		return false
	}
	shut[keptText]++
	return true
}
