// Package progress reads how far a task is: from the lines that it prints, or from
// a file that it writes.
//
// Many programs count anew in each epoch, and show several bars at once. A count
// that falls back is taken for one that begins again, and what it had reached is
// kept, so that the steps of a run never fall. Counts with different totals are
// different counts; the one that came farthest is the task's. A bar that moves once
// whenever that one begins again counts the epochs, and tells how many steps there
// are in all.
package progress
