// Package find looks for what describes a task: in the folder of a training, and in
// the words of its command.
package find
