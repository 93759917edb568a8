package fakegpu

import "testing"

// FuzzParse reads files: what is accepted makes sense.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"gpus": [{"name": "A100"}, {"name": "RTX 3090", "memory": "24GiB", "foreign": "2GiB", "id": "b", "lost": true}]}`))
	f.Add([]byte(`{"gpus": [{"name": "A100", "memory": "-1"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		gpus, err := parse(text)
		if err != nil {
			return
		}
		for _, g := range gpus {
			if g.memory <= 0 || g.foreign < 0 || g.id == "" {
				t.Errorf("accepted %+v", g)
			}
		}
	})
}
