// Package records reads what a site wrote down of its own past: which job had which GPUs,
// from when to when, and what was seen of it.
//
//	log, err := records.Read(file, nil)            // sacct, a table of another scheduler, a station
//	log.Attach(traces)                             // utilisation, from package tracefile
//
// # What is read
//
//   - sacct --parsable2, with a header, of any version: JobID, Start, End and AllocTRES (or
//     AllocGRES and NNodes) are needed; User, JobName, Partition, State, Submit, Eligible,
//     ElapsedRaw, NodeList, ReqTRES and, where jobacct_gather watches GPUs, TRESUsageInMax,
//     TRESUsageInTot and TRESUsageInAve are used.
//   - sacct --json, of Slurm 22.05 to 25.05.
//   - A CSV of any other scheduler, with the columns of [Columns].
//   - What colloc station list -json prints. Jobs that shared a GPU are left out, as those on
//     shares are of Slurm's.
//
// A row that cannot be read costs a warning, not the log. What is no GPU job, never
// started, or comes twice is left out and counted.
package records
