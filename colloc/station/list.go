package station

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
)

// list is GET /v1/jobs.
func (s *Station) list(r *http.Request, u peer.User) (any, error) {
	q, err := query(r)
	if err != nil {
		return nil, err
	}
	p := page{viewer: s.viewer(u), Query: q, jobs: make(map[int]api.Job)}
	if q.Before != "" {
		last, err := s.find(q.Before)
		if err != nil {
			return nil, err
		}
		p.before = last.Number
	}
	records, past := s.runner.All()
	p.expect = s.runner.Expect()
	left, most := q.Ended, q.Limit
	for _, r := range slices.Backward(records) {
		if most == 0 {
			break
		}
		if !p.asked(&r) || r.State.Over() && left == 0 {
			continue
		}
		if r.State.Over() {
			left--
		}
		most--
		p.add(&r)
	}
	if n := p.among(past); left < 0 || left > n {
		left = n // no further: the history may be long
	}
	err = p.addPast(r.Context(), min(left, q.Limit))
	ordered := make([]api.Job, 0, len(p.jobs))
	for _, number := range slices.Sorted(maps.Keys(p.jobs)) {
		ordered = append(ordered, p.jobs[number])
	}
	return ordered[max(0, len(ordered)-q.Limit):], err
}

// page is a list of jobs that a user asks for.
type page struct {
	*viewer
	api.Query

	before int             // only numbers below; 0 is all
	jobs   map[int]api.Job // by number: a job may be moved to the history meanwhile, and back
}

// add shows a record as the page does.
func (p *page) add(r *runner.Record) {
	j := p.job(r)
	if p.Brief {
		j.Kind, j.Dir, j.Log, j.Err, j.Class, j.Why = "", "", "", "", "", ""
		if j.Name != "" {
			j.Command = nil
		}
	}
	p.jobs[r.Number] = j
}

// addPast adds so many jobs of the history, the last of those that are asked for, and what
// came back from there meanwhile.
func (p *page) addPast(ctx context.Context, left int) error {
	if left == 0 {
		return nil
	}
	err := p.s.runner.History(p.before, func(r runner.Record) bool {
		if p.asked(&r) {
			if _, twice := p.jobs[r.Number]; !twice {
				left--
			}
			p.add(&r)
		}
		return left > 0 && ctx.Err() == nil
	})
	for _, r := range p.s.runner.Records() {
		if p.asked(&r) && !r.State.Over() {
			p.add(&r)
		}
	}
	return err
}

// among counts the jobs of the history that a query names, whatever their numbers.
func (p *page) among(past map[int]map[runner.State]int) (n int) {
	for uid, of := range past {
		if p.User != "" && p.s.names.Of(userOf(uid)) != p.User {
			continue
		}
		for state, count := range of {
			if len(p.States) == 0 || slices.Contains(p.States, state) {
				n += count
			}
		}
	}
	return n
}

// asked reports whether a record is one of those that a query names.
func (p *page) asked(r *runner.Record) bool {
	return (p.before == 0 || r.Number < p.before) && (p.User == "" || p.s.names.Of(uidOf(r)) == p.User) &&
		(len(p.States) == 0 || slices.Contains(p.States, r.State))
}

// query reads what to list.
func query(r *http.Request) (q api.Query, err error) {
	values := r.URL.Query()
	q.User = values.Get("user")
	for _, name := range values["state"] {
		var state runner.State
		if err := state.UnmarshalText([]byte(name)); err != nil {
			return q, api.Errorf(api.Invalid, "state", "want queued, starting, running, succeeded, failed or cancelled", "%.50q", name)
		}
		q.States = append(q.States, state)
	}
	if q.Ended, err = strconv.Atoi(cmp.Or(values.Get("ended"), "0")); err != nil {
		return q, api.Errorf(api.Invalid, "ended", "want a number", "%.50q", values.Get("ended"))
	}
	q.Limit, err = strconv.Atoi(cmp.Or(values.Get("limit"), "0"))
	if err != nil || q.Limit < 0 || q.Limit > api.MaxPage {
		return q, api.Errorf(api.Invalid, "limit", fmt.Sprintf("want 1 to %d", api.MaxPage), "%.50q", values.Get("limit"))
	}
	q.Limit, q.Before = cmp.Or(q.Limit, api.MaxPage), values.Get("before")
	if q.Brief, err = strconv.ParseBool(cmp.Or(values.Get("brief"), "false")); err != nil {
		return q, api.Errorf(api.Invalid, "brief", "want true or false", "%.50q", values.Get("brief"))
	}
	return q, nil
}
