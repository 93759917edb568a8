// Package volumes says which nodes a pod may have by its volumes: what the stock scheduler's filters
// VolumeBinding, VolumeZone and VolumeRestrictions ask, before a decision pins the pod to a node that has none of
// them. How many volumes a node's driver takes it leaves to the scheduler.
package volumes
