// Package environ makes the environment of a task's run.
package environ
