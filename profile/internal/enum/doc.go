// Package enum writes and reads the names of enumerations.
package enum
