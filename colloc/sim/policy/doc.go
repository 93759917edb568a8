// Package policy holds scheduling policies for package sim: those of the
// literature, each written from its published description, and ours.
//
// A policy is a struct literal whose zero fields are the published settings. All
// lists them, ByName finds one.
package policy
