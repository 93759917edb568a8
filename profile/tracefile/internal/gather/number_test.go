package gather

import "testing"

func FuzzNumber(f *testing.F) {
	f.Add("12.345")
	f.Add("140737488355329")
	f.Add("999999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		fast, state := Number([]byte(text))
		slow, slowState := slowNumber([]byte(text), 0)
		if fast != slow || state != slowState {
			t.Errorf("%q: got %v %v, strconv %v %v", text, fast, state, slow, slowState)
		}
	})
}
