package station

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/colloc/wire"
	"example.com/colloc/nvmlx"
)

// do is POST /v1/jobs/{verb}.
func (s *Station) do(r *http.Request, u peer.User) (any, error) {
	verb := r.PathValue("verb")
	act, ok := map[string]func(...string) error{
		"cancel": s.runner.Kill, "requeue": s.runner.Retry, "hold": s.runner.Hold, "release": s.runner.Release,
	}[verb]
	if !ok {
		return nil, api.Errorf(api.NotFound, "POST /v1/jobs/"+strconv.QuoteToASCII(verb), "want cancel, requeue, hold or release", "nothing of that name can be done to jobs")
	}
	var in api.IDs
	if err := wire.Read(r, &in); err != nil {
		return nil, err
	}
	switch n := len(in.IDs); {
	case n == 0:
		return nil, api.Errorf(api.Invalid, "ids", "name at least one", "there is none")
	case n > api.MaxTasks:
		return nil, api.Errorf(api.TooLarge, "ids", "name them in several requests", "%d jobs, want at most %d", n, api.MaxTasks)
	}
	if verb == "requeue" {
		s.submitting.Lock()
		defer s.submitting.Unlock()
	}
	again := make(map[uint32]int) // how many of each user's
	for _, id := range in.IDs {
		record, err := s.find(id)
		if err != nil {
			return nil, err
		}
		if !s.may(u, &record) {
			return nil, api.Errorf(api.Forbidden, "job "+id, "ask for yours only", "it is %s's", s.names.Of(uidOf(&record)))
		}
		if err := suits(verb, &record); err != nil {
			return nil, err
		}
		if verb == "requeue" {
			again[uidOf(&record)]++
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(again)) {
		if err := s.mayQueue(uid, again[uid]); err != nil {
			return nil, err
		}
	}
	if err := act(in.IDs...); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// suits is an error if what was asked for makes no sense for a job as it is.
func suits(verb string, r *runner.Record) error {
	where := "job " + r.Task.ID
	switch over := r.State.Over(); {
	case verb == "requeue" && r.State == runner.Succeeded:
		return api.Errorf(api.Conflict, where, "submit it again", "it succeeded")
	case verb == "requeue" && !over:
		return api.Errorf(api.Conflict, where, "cancel it first", "it is %v", r.State)
	case (verb == "hold" || verb == "release") && over:
		return api.Errorf(api.Conflict, where, "requeue runs it again", "it is over: %v", r.State)
	}
	return nil
}

// gpus is POST /v1/gpus/{verb}.
func (s *Station) gpus(r *http.Request, u peer.User) (any, error) {
	verb := r.PathValue("verb")
	if verb != "drain" && verb != "undrain" && verb != "reserve" {
		return nil, api.Errorf(api.NotFound, "POST /v1/gpus/"+strconv.QuoteToASCII(verb), "want drain, undrain or reserve", "nothing of that name can be done to GPUs")
	}
	var in api.GPURequest
	if err := wire.Read(r, &in); err != nil {
		return nil, err
	}
	if !s.governs(u) {
		return nil, api.Errorf(api.Forbidden, "", "ask whoever runs the station", "only root may %s GPUs", verb)
	}
	ids, err := s.devices(in.GPUs)
	if err != nil {
		return nil, err
	}
	if verb == "reserve" {
		err = s.reserve(&in, ids, u)
	} else {
		s.drain(verb == "drain", ids)
	}
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.save()
}

// drain keeps jobs from starting on some GPUs, or on all, or lets them start again.
func (s *Station) drain(drain bool, ids []nvmlx.DeviceID) {
	switch {
	case len(ids) == 0:
		s.turns.Drain(drain)
	case drain:
		s.turns.Close(&closing{}, ids...)
	default:
		s.turns.Close(nil, ids...)
	}
}

// reserve keeps some GPUs for one user.
func (s *Station) reserve(in *api.GPURequest, ids []nvmlx.DeviceID, u peer.User) error {
	switch {
	case len(ids) == 0:
		return api.Errorf(api.Invalid, "gpus", "name at least one", "there is none")
	case !in.Until.After(s.config.Clock.Now()):
		return api.Errorf(api.Invalid, "until", "want a time to come", "%v", in.Until)
	}
	c := closing{Reserved: true, UID: u.UID, Until: in.Until}
	if in.User != "" {
		uid, err := peer.Lookup(in.User)
		if err != nil {
			return api.Errorf(api.NotFound, "user", "", "there is no user %.50q here", in.User)
		}
		c.UID = uid
	}
	s.turns.Close(&c, ids...)
	return nil
}

// devices finds GPUs by number or ID.
func (s *Station) devices(names []string) (ids []nvmlx.DeviceID, err error) {
	all := s.runner.GPUs()
	for _, name := range names {
		at, err := strconv.Atoi(name)
		if err != nil {
			at = slices.IndexFunc(all, func(g runner.GPUState) bool { return string(g.Device.ID) == name })
		}
		if at < 0 || at >= len(all) {
			return nil, api.Errorf(api.NotFound, fmt.Sprintf("GPU %.50q", name), fmt.Sprintf("there are 0 to %d", len(all)-1), "there is none")
		}
		ids = append(ids, all[at].Device.ID)
	}
	return ids, nil
}
