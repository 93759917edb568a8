// Package prometheus reads metrics as Prometheus has them: the text of an exporter and
// the JSON of a server's answer.
package prometheus
