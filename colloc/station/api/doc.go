// Package api is what goes over the socket of a station: JSON over HTTP, in the words
// of this package, and a [Client] that speaks it.
//
//	POST /v1/jobs                      {"tasks": [Task...]}           -> {"ids": ["7"]}
//	GET  /v1/jobs?user=&state=&ended=&before=&limit=&brief=true       -> [Job...], see Query
//	GET  /v1/jobs/{id}                 one job                        -> Job
//	GET  /v1/jobs/{id}/log?offset=&follow=true                        -> its output
//	POST /v1/jobs/{verb}               {"ids": [...]}: cancel, requeue, hold, release
//	GET  /v1/wait?id=&timeout=30s      jobs, once all of them are over or time is -> [Job...]
//	GET  /v1/state                     GPUs, users and what runs      -> State
//	POST /v1/gpus/{verb}               GPURequest: drain, undrain, reserve
//	POST /v1/{fit,best,plan,observe}   see package decide, if the station was started with -decide
//
// What goes wrong is an [Error] with an HTTP status of 400 or more. Times are RFC 3339,
// amounts of memory are bytes, durations are texts such as "1h30m". A field that is not
// there is not known: it is no zero.
//
// From a shell:
//
//	curl --unix-socket /run/colloc/station.sock http://station/v1/state
package api
