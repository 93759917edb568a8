// Package enum gives the values of enumerations their names, in text and JSON.
package enum
