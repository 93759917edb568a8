// Package burn plays training programs on fake GPUs, which have computing time
// beside the memory that package fakegpu gives them. A process that burns is real:
// all but the GPU of what launches it can be tried on any machine.
package burn
