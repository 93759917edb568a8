package queue

import (
	"encoding/json"
	"testing"
)

func TestNames(t *testing.T) {
	type names struct {
		State    State
		Recovery Recovery
		Kind     EventKind
	}
	for i := range eventNames.Len() {
		in := names{State: State(i % stateNames.Len()), Recovery: Recovery(i % recoveryNames.Len()), Kind: EventKind(i)}
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out names
		if err := json.Unmarshal(text, &out); err != nil || in != out {
			t.Errorf("%s becomes %+v: %v", text, out, err)
		}
	}
	if _, err := State(99).MarshalText(); err == nil {
		t.Error("an undefined state has a name")
	}
	if got := State(99).String(); got != "state(99)" {
		t.Errorf("an undefined state is %q", got)
	}
	var old Recovery
	if err := old.UnmarshalText([]byte("another mechanism")); err != nil || old != ReservedMore {
		t.Errorf("a step of queues of before is %v, %v", old, err)
	}
	var s State
	if err := s.UnmarshalText([]byte("asleep")); err == nil {
		t.Error("a state of no name was read")
	}
}
