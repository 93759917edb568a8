// Package decide answers Fit, Best, Plan and Observe of a Planner over HTTP and JSON, and lets
// a Dispatcher be driven so, for schedulers in other languages.
//
//	POST /v1/fit      {"task": Task, "gpu": GPU}          -> FitAnswer
//	POST /v1/best     {"task": Task, "gpus": [GPU...]}    -> BestAnswer
//	POST /v1/plan     {"tasks": [Task...], "gpus": [...]} -> colloc.Plan
//	POST /v1/observe  Observation                         -> {}
//
//	POST /v1/events   {"events": [Event...]}              -> EventsAnswer
//	POST /v1/decide   {}                                  -> ActionsAnswer
//	GET  /v1/jobs/ID/why                                  -> WhyAnswer
//
// A Task is what a task file holds, see package taskfile, without model_file: send the
// layers, as colloc describe prints them. A [GPU] names its product and the tasks that run
// there. What goes wrong is a [wire.Error] with an HTTP status of 400 or more; that a task
// does not fit is an answer, and no error. docs/howto/http.md shows all of it with curl,
// examples/decide with Python.
package decide
