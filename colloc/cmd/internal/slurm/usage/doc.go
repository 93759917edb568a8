// Package usage is what the subcommands of colloc slurm have in common: how they read
// their flags, and which errors are of whoever called.
package usage
