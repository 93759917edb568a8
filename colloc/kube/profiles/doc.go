// Package profiles reads Profiles, the custom resource in which a user says what a kind
// of task is and what was measured of it. Its spec is a [profile.Spec] with the field
// measured, a list of what was seen of the task alone on GPUs. Its status has such a list
// too, of what collocd measured.
package profiles
