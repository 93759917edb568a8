// Package draft is the description that a reader works on, and what the names of classes
// tell.
package draft
