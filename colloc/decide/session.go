package decide

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/wire"
	"example.com/colloc/profile"
)

// Requests and answers of a session.
type (
	// EventsRequest tells what happened, in order. At is the time of the caller's clock since any
	// fixed moment, missing where the clock is that of the server. All callers of a session have
	// one clock.
	EventsRequest struct {
		At     profile.Opt[time.Duration] `json:"at_ns,omitzero"`
		Events []Event                    `json:"events"`
	}
	// EventsAnswer lists the events that were not taken in. All others were.
	EventsAnswer struct {
		Refused []Refusal `json:"refused"`
	}
	// Refusal is an event that makes no sense as things are. One that comes twice or too late is
	// a [wire.Conflict]: leave it out, and stop the run that it is about, if that lives.
	Refusal struct {
		Index int       `json:"index"`
		Code  wire.Code `json:"code"`
		What  string    `json:"what"`
	}
	// ActionsRequest asks what to do now.
	ActionsRequest struct {
		At profile.Opt[time.Duration] `json:"at_ns,omitzero"`
	}
	// ActionsAnswer says what to do, in order, and when to ask again at the latest; missing is
	// not before the next event. Note says what kept it from a better answer.
	ActionsAnswer struct {
		Actions []dispatch.Action          `json:"actions"`
		Next    profile.Opt[time.Duration] `json:"next_ns,omitzero"`
		Note    string                     `json:"note,omitempty"`
	}
	// WhyAnswer says why a job waits, as [dispatch.Reason] does, and Text for people.
	WhyAnswer struct {
		Text string `json:"text"`
		dispatch.Reason
	}
)

// MaxEvents is how many events a request tells at most.
const MaxEvents = 4096

// Most bounds the request, see [wire.Bounded].
func (*EventsRequest) Most() map[string]int {
	m := most()
	m["events"] = MaxEvents
	return m
}

// session is a Dispatcher that requests drive.
type session struct {
	save func(state []byte) error // nil keeps none
	now  func() time.Duration     // nil is not known

	mu      sync.Mutex
	d       *dispatch.Dispatcher
	learned bool // something was observed since it was last told
}

// at is the time of a request.
func (s *session) at(told profile.Opt[time.Duration]) (time.Duration, error) {
	at, ok := told.Get()
	if !ok && s.now == nil {
		return 0, wire.Errorf(wire.Invalid, "at_ns", "tell the time", "the server has no clock")
	}
	if !ok {
		at = s.now()
	}
	return at, nil
}

// tell tells the Dispatcher one event.
func (s *session) tell(at time.Duration, e dispatch.Event) error {
	if s.learned {
		if err := s.d.Tell(at, dispatch.Learned{}); err != nil {
			return err
		}
		s.learned = false
	}
	if e == nil {
		return nil
	}
	return s.d.Tell(at, e)
}

// keep saves what changed.
func (s *session) keep() error {
	if s.save == nil {
		return nil
	}
	state, err := s.d.State()
	if err == nil {
		err = s.save(state)
	}
	if err != nil {
		return wire.Errorf(wire.Failed, "", "", "what was told is taken in, and could not be kept: %v", err)
	}
	return nil
}

// events is POST /v1/events.
func (s *session) events(_ *http.Request, in *EventsRequest) (any, error) {
	if len(in.Events) > MaxEvents {
		return nil, wire.Errorf(wire.TooLarge, "events", "send several requests", "%d, want at most %d", len(in.Events), MaxEvents)
	}
	list := make([]dispatch.Event, len(in.Events))
	for i := range in.Events {
		var err error
		if list[i], err = in.Events[i].dispatched(fmt.Sprintf("events[%d]", i)); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.at(in.At)
	if err != nil {
		return nil, err
	}
	answer := EventsAnswer{Refused: []Refusal{}}
	for i, e := range list {
		err := s.tell(at, e)
		if errors.Is(err, dispatch.ErrTime) {
			return nil, late(err)
		}
		if err != nil {
			answer.Refused = append(answer.Refused, Refusal{i, codeOf(err), reasonOf(err)})
		}
	}
	return answer, s.keep()
}

// decide is POST /v1/decide.
func (s *session) decide(r *http.Request, in *ActionsRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.at(in.At)
	if err != nil {
		return nil, err
	}
	if err := s.tell(at, nil); err != nil {
		return nil, late(err)
	}
	actions, err := s.d.Decide(r.Context(), at)
	if errors.Is(err, dispatch.ErrTime) {
		return nil, late(err)
	}
	answer := ActionsAnswer{Actions: append([]dispatch.Action{}, actions...)}
	if next, ok := s.d.Next(); ok {
		answer.Next = profile.Some(next)
	}
	if err != nil {
		answer.Note = err.Error()
	}
	return answer, s.keep()
}

// why is GET /v1/jobs/ID/why.
func (s *session) why(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	reason, err := s.d.Why(r.PathValue("id"))
	s.mu.Unlock()
	if err != nil {
		wire.Refuse(w, wire.Errorf(codeOf(err), "", "", "%v", err))
		return
	}
	wire.Answer(w, WhyAnswer{reason.String(), reason})
}

// late is the answer to a time before that of an earlier request.
func late(err error) error {
	return wire.Errorf(wire.Conflict, "at_ns", "let all who share the session use one clock, or none of them", "%v", err)
}

// codeOf is the kind of an error of a Dispatcher.
func codeOf(err error) wire.Code {
	switch {
	case errors.Is(err, dispatch.ErrUnknown):
		return wire.NotFound
	case errors.Is(err, dispatch.ErrLate), errors.Is(err, dispatch.ErrDuplicate):
		return wire.Conflict
	}
	return wire.Invalid
}

// reasonOf is an error of an event without its place, which the answer names.
func reasonOf(err error) string {
	var e *dispatch.EventError
	if errors.As(err, &e) {
		return fmt.Sprintf("%q: %v", e.Name, e.Err)
	}
	return err.Error()
}
