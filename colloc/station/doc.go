// Package station shares the GPUs of one machine between the people who work there: a
// daemon takes their tasks over a unix socket, starts them as soon as a GPU has room,
// and lets them share one where colloc predicts that this helps.
//
//	s, err := station.New(ctx, station.Config{Config: runner.Config{Dir: "/var/lib/colloc", Source: gpus}})
//	l, err := station.Listen(api.SystemSocket, true)
//	go s.Serve(ctx, l)
//	err = s.Run(ctx) // until ctx is done; tasks go on and are adopted by the next New
//
// [Station.Handler] is the same for a server of one's own. What goes over the socket is
// package api. Queue and processes are package runner's: what it says of deaths of the
// daemon, of the host and of supervisors holds here.
package station
