package station

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// viewer shows records to one user.
type viewer struct {
	s      *Station
	u      peer.User
	now    time.Time
	gpus   []runner.GPUState
	beside map[nvmlx.DeviceID][]string
	index  map[nvmlx.DeviceID]int
	live   bool // what jobs wait for is asked anew
	drains bool
	shut   map[uint32][]string // by users
	expect map[string]runner.Expectation
}

func (s *Station) viewer(u peer.User) *viewer {
	v := &viewer{
		s: s, u: u, now: s.config.Clock.Now(), gpus: s.runner.GPUs(),
		drains: s.turns.Draining(), shut: make(map[uint32][]string), beside: make(map[nvmlx.DeviceID][]string), index: make(map[nvmlx.DeviceID]int),
	}
	for i := range v.gpus {
		id := v.gpus[i].Device.ID
		v.beside[id], v.index[id] = v.gpus[i].Tasks, i
	}
	return v
}

// meet says beside whom a job runs. What was foretold of its speed was for those who were there before.
func (v *viewer) meet(j *api.Job, r *runner.Record) {
	for _, id := range r.Devices() {
		for _, other := range v.beside[id] {
			if other == r.Task.ID || slices.Contains(j.Beside, other) {
				continue
			}
			j.Beside = append(j.Beside, other)
			if o, ok := v.s.runner.Record(other); ok && o.Started.After(r.Started) {
				j.Predicted = profile.Opt[float64]{}
			}
		}
	}
}

// job is one record as its user, or another one, may see it.
func (v *viewer) job(r *runner.Record) api.Job {
	t := &r.Task
	j := api.Job{
		ID: t.ID, Name: t.Name, User: v.s.names.Of(uidOf(r)), State: r.State, Held: t.Held, Class: classOf(t.Priority),
		Submitted: r.Submitted, Started: r.Started, Ended: r.Ended, Width: t.Width(), Reserved: r.Reserved, Peak: r.Peak,
		Mechanism: r.Mechanism, Speed: r.Speed, Step: r.Step, Total: r.Total, Runs: r.Runs, OutOfMemory: max(0, int(r.Recovery)-r.Overruns), Signal: r.Signal,
		Stops: r.Stops, Stopped: r.Stopped,
	}
	if v.s.may(v.u, r) {
		j.Kind, j.Command, j.Dir, j.Log, j.Err = t.Kind, t.Command, t.Dir, r.Log, r.Err
	}
	if r.Predicted.Confidence > 0 {
		j.Predicted = profile.Some(r.Predicted.Value)
	}
	for _, id := range r.Devices() {
		if at, ok := v.index[id]; ok {
			j.GPUs, j.Product = append(j.GPUs, at), v.gpus[at].Device.Name
		}
	}
	switch {
	case r.State == runner.Queued:
		j.Why = v.why(r, v.live)
		if x, ok := v.expect[t.ID]; ok && !v.drains {
			j.Starts, j.StartsIn, j.EndsIn = profile.Some(x.Start.At), between(x.Start), between(x.End)
		}
	case r.State.Over():
		if r.Runs > 0 {
			j.Exit = profile.Some(r.Exit)
		}
	default:
		v.meet(&j, r)
		if x, ok := v.expect[t.ID]; ok {
			j.Ends, j.EndsIn = profile.Some(x.End.At), between(x.End)
		}
	}
	return j
}

// between is what becomes of a span in an answer.
func between(s runner.Span) profile.Opt[api.Between] {
	return profile.Some(api.Between{Lo: s.Lo, Hi: s.Hi})
}

// classOf is the name of a priority class.
func classOf(priority int) string {
	for name, p := range classes() {
		if p == priority {
			return name
		}
	}
	return strconv.Itoa(priority)
}

// show is GET /v1/jobs/{id}.
func (s *Station) show(r *http.Request, u peer.User) (any, error) {
	record, err := s.find(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	v := s.viewer(u)
	v.expect, v.live = s.runner.Expect(), true
	return v.job(&record), nil
}

// find returns a record.
func (s *Station) find(id string) (runner.Record, error) {
	record, ok := s.runner.Record(id)
	if !ok {
		return record, api.Errorf(api.NotFound, "job "+strconv.QuoteToASCII(id), "colloc station list -all tells which there are", "there is none")
	}
	return record, nil
}

// state is GET /v1/state.
func (s *Station) state(_ *http.Request, u peer.User) (any, error) { return s.snapshot(u), nil }

// snapshot is the station as it is now, as a user may see it.
func (s *Station) snapshot(u peer.User) *api.State {
	v := s.viewer(u)
	st := &api.State{At: v.now, Since: s.since, Version: s.config.Version, Draining: s.turns.Draining(), Users: []api.User{}, Active: []api.Job{}, Queue: []api.Job{}}
	st.Warnings = s.warningsFor(u)
	for i := range v.gpus {
		st.GPUs = append(st.GPUs, v.gpu(i))
	}
	users := make(map[uint32]*api.User)
	records, past := s.runner.All()
	v.expect, v.live = s.runner.Expect(), true
	for i := range records {
		r := &records[i]
		of := users[uidOf(r)]
		if of == nil {
			of = &api.User{Name: s.names.Of(uidOf(r)), UID: uidOf(r)}
			users[of.UID] = of
		}
		count(&of.Count, r)
		count(&st.Count, r)
		switch {
		case r.State == runner.Queued && len(st.Queue) < api.MaxQueue:
			st.Queue = append(st.Queue, v.job(r))
		case r.State == runner.Starting || r.State == runner.Running:
			st.Active = append(st.Active, v.job(r))
		}
	}
	s.countPast(past, users, &st.Count)
	st.Users = append(st.Users, s.users(users)...)
	slices.SortFunc(st.Users, func(a, b api.User) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID)) })
	slices.SortStableFunc(st.Active, func(a, b api.Job) int { return a.Started.Compare(b.Started) })
	return st
}

// users tells what users had, also those who have no job any more.
func (s *Station) users(users map[uint32]*api.User) (all []api.User) {
	accounts := s.turns.Accounts()
	recent := 0.0
	for uid, a := range accounts {
		recent += a.Recent
		if users[uid] == nil {
			users[uid] = &api.User{Name: s.names.Of(uid), UID: uid}
		}
	}
	var want []uint32
	for uid, of := range users {
		if of.Queued+of.Running > 0 {
			want = append(want, uid)
		}
	}
	share := s.config.shares(want)
	for uid, of := range users {
		a := accounts[uid]
		of.Weight, of.Share = s.config.weight(uid), share[uid]
		if recent > 0 {
			of.Had = a.Recent / recent
		}
		of.GPUSeconds, of.SavedSeconds, of.WaitSeconds, of.Started = a.GPU, a.Saved, a.Wait, a.Started
		of.OutOfMemory, of.Overruns = a.OutOfMemory, a.Overruns
		all = append(all, *of)
	}
	return all
}

// countPast adds the jobs of the history.
func (s *Station) countPast(past map[int]map[runner.State]int, users map[uint32]*api.User, all *api.Count) {
	for uid, of := range past {
		owner := userOf(uid)
		u := users[owner]
		if u == nil {
			u = &api.User{Name: s.names.Of(owner), UID: owner}
			users[owner] = u
		}
		for _, c := range []*api.Count{all, &u.Count} {
			c.Succeeded += of[runner.Succeeded]
			c.Failed += of[runner.Failed]
			c.Cancelled += of[runner.Cancelled]
		}
	}
}

// count counts a job by its state.
func count(c *api.Count, r *runner.Record) {
	switch r.State {
	case runner.Queued:
		c.Queued++
		if r.Task.Held {
			c.Held++
		}
	case runner.Starting, runner.Running:
		c.Running++
	case runner.Succeeded:
		c.Succeeded++
	case runner.Failed:
		c.Failed++
	case runner.Cancelled:
		c.Cancelled++
	}
}

// gpu is one card.
func (v *viewer) gpu(i int) api.GPU {
	from := &v.gpus[i]
	g := api.GPU{
		Index: i, ID: from.Device.ID, Name: from.Device.Name, Memory: from.Device.Memory.Or(0), Usable: from.Usable, Reserved: from.Reserved,
		Used: from.Used, Busy: from.Busy, Mechanism: from.Mechanism, Jobs: from.Tasks, Lost: from.Lost,
	}
	if c := v.s.turns.Closed(g.ID); c != nil {
		g.Drained = !c.Reserved
		if c.Reserved {
			g.For, g.Until = v.s.names.Of(c.UID), c.Until
		}
	}
	return g
}
