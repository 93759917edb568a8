// Package shadow is what colloc slurm shadow and colloc station shadow have in common: it looks
// on, keeps a journal, says what colloc would do, and reports.
package shadow
