package hf

import "testing"

func TestWithoutInfinities(t *testing.T) {
	if got := string(withoutInfinities([]byte(`{"a \"Infinity":[Infinity,-Infinity,NaN,"NaN"]}`))); got != `{"a \"Infinity":[1e308,-1e308,null,"NaN"]}` {
		t.Errorf("got %s", got)
	}
}
