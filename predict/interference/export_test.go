package interference

import "example.com/colloc/profile"

// ServerLaw is serverLaw with constants that a test may fit.
type ServerLaw struct{ Stretch, Room, Give float64 }

// LawOf is the one that predictions are made with.
func LawOf(mech profile.Mechanism) ServerLaw {
	l := serverLawOf(mech)
	return ServerLaw{l.stretch, l.room, l.give}
}

// BesideServer is what m would say with another law of a training beside a server: its
// speed, and how many times as long an answer takes.
func BesideServer(m *Predictor, mech profile.Mechanism, training, server *profile.Profile, with ServerLaw) (speed, longer float64) {
	r, _ := m.load().regime(gpuName(&training.GPU), mech)
	set, law, curve := r.members([]*profile.Profile{training, server}), serverLaw{with.Stretch, with.Room, with.Give}, r.curve()
	beside, asked := &set[0], &set[1]
	loss := r.pairLoss(asked, beside, 0) - r.lawLoss(asked, beside) + r.ownLoss(asked, beside.present) +
		curve.ofSlowdown(law.stretched(&asked.load, &beside.load)-1)
	longer = 1 + max(0, curve.slowdown(loss))
	return law.leaves(&asked.load, &beside.load, longer), longer
}
