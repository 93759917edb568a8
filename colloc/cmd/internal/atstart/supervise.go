package atstart

import "example.com/colloc/colloc/runner"

//nolint:gochecknoinits // that it comes before other inits is what it is for
func init() { runner.Supervise() }
