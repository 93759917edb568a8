// Package policy holds scheduling policies for package sim: those of the
// literature, each written from its published description, and ours.
//
// A policy is a struct literal whose zero fields are the published settings. All
// lists them, ByName finds one.
//
// # How they compare with what was published
//
// The traces are in the folder that COLLOC_DATA names. The command
//
//	colloc simulate -published $COLLOC_DATA/traces
//
// prints all of these figures beside the published ones.
//
//   - Muri's SRTF and SRSF: mean and 99th percentile of completion times and
//     makespan to the last published digit, on all three traces (go test -v
//     -run MuriExclusive). Two details decide: every event restarts all tasks, and a
//     task that ends before the next one has not paid for it
//     ([sim.Options].RestartAll).
//   - Tiresias, which is [LAS], on the same traces: within 0.2 % (-v -run Tiresias).
//   - Muri-S and Muri-L: mean completion times within 8.4 %, makespans within 1.3 %
//     (-bench Muri). We match exactly and break ties in our own way; the
//     authors' matching runs on floating-point weights with ties of its own, and
//     completes tasks 2 to 8 % later on five of six.
//   - FGD's experiment on openb: random, best fit and FGD allocate 87.8, 93.0 and
//     95.1 % of the GPUs; published are 87.5, 93.2 and 95.3 (-v -run Openb).
//   - CARMA's trace t1 under exclusive FIFO: 470.4 minutes; published are 470 (-v
//     -run CARMA). Nobody measured its tasks together: what its other policies come
//     to rests on [speed.Contention].
package policy
