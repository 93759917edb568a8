// Package simulate is the command colloc simulate: it replays a trace on a cluster under scheduling policies, as
// often as there are seeds, and compares what that would have cost.
//
//	colloc simulate -trace FILE -gpus 4xA100-40GB -policies all -seeds 10 -html report.html
//
// The layout of the trace is recognised by its header; -h lists what can be set.
// Figures are means over seeds with 95 % intervals. The exit status is 2 for
// wrong input and 1 for anything else that fails.
package simulate
