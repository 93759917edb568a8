// Package jsondoc decodes JSON files of people: strictly, part by part, and with
// file and line in every error.
package jsondoc
