// Package catalogue values all multisets of task types and walks over them at prices:
// which sets earn most beyond what their types cost.
package catalogue
