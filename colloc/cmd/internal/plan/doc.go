// Package plan is the command colloc plan: it decides which of the tasks that it is given
// share which GPU, and says so in ten lines, as JSON, or as a picture.
package plan
