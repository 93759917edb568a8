// Package page shows a station to a browser: GPUs with the jobs on them, memory reserved
// and used, speeds, users, the queue and when jobs are expected to end. It is one HTML
// document that loads nothing else, runs no script and changes nothing. It never shows
// commands, environments, folders, outputs or the texts of warnings, whoever looks.
package page
