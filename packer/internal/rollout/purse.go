package rollout

// Purse is what the jobs of one owner may still take at once: so many jobs more, on so many
// cards, shared ones counted for each.
type Purse struct{ Jobs, Cards int32 }

// affords reports whether a job's owner may have it run now.
func (e *Engine) affords(i int32) bool { return e.pays(i, e.purses) }

// pays reports whether a job's owner may have it run, as far as some purses go.
func (e *Engine) pays(i int32, purses []Purse) bool {
	j := &e.Jobs[i]
	return j.Owner == 0 || purses[j.Owner-1].Jobs >= 1 && purses[j.Owner-1].Cards >= j.Width
}

// spend takes a job that starts from its owner's purse, or gives it back with -1.
func (e *Engine) spend(i, sign int32, purses []Purse) {
	if j := &e.Jobs[i]; j.Owner > 0 {
		p := &purses[j.Owner-1]
		p.Jobs -= sign
		p.Cards -= sign * j.Width
	}
}
