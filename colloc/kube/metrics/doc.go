// Package metrics holds what collocd tells Prometheus.
package metrics
