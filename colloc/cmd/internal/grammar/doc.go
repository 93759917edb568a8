// Package grammar turns a command with placeholders, lists of values and files of
// commands into tasks: -p lr=1e-4..1e-1:x10 -n 3 -- train --lr {lr} --seed {}.
// The grammar is in the package comment of sweep.
package grammar
