// Package solo is what one run of a task tells of those that are alike: it watches the run, which should have its GPU to itself,
// makes a description of what it saw, and bounds what the next ones need.
package solo
