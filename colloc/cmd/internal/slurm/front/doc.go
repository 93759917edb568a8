// Package front is how work gets into colloc slurm: the commands new, which makes a
// sweep file of a command line, and advise, which says what a measured task should ask
// a site for.
package front
