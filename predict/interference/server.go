package interference

import (
	"math"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// serverLaw is how a server with a load and what runs beside it slow each other down,
// from tally-bench's trainings beside servers on an A100 (evenly spaced requests, half of
// what the server could serve):
//
//	σ = 1 + stretch · b · s            how much longer an answer takes
//	w = (room − give · b/σ)/s          the training's speed while requests are served
//	speed = 1 − A (1 − w)              A = min(1, λσ), the share of the time in which they are
//
// with b the share of the time of an answer alone that keeps the GPU busy, λ the load and
// s what keeps the other busy alone. In turns the server has its time and the training the
// rest: busy time comes to .88 of what there is. Under MPS half of what either takes is free.
// Fitted without each training and each server in turn (TestServersLeftOut), the speed of the
// training is off by .044 in turns and .027 under MPS, latency by 14 and 17 %. Under MPS it
// hangs on whose kernels are longer, as pairs say ([Fit], [Predictor.Observe]): without
// them by .063 and 43 %. Of 48 laws of busy time and memory traffic no one did better than
// 30 % alone. That a server answers min(1, 1/(λσ)) of what is asked holds to .06, and
// says of σ nothing that latency does not.
type serverLaw struct{ stretch, room, give float64 }

func serverLawOf(mech profile.Mechanism) serverLaw {
	if mech == profile.MPS {
		return serverLaw{1.12, 1.04, 0.6}
	}
	return serverLaw{1.42, 0.88, 1}
}

// busy is the share of an answer that keeps the GPU busy, alone.
func (l *load) busy() float64 { return min(1, l.sm/l.serves) }

// stretched is σ of a server beside another.
func (w serverLaw) stretched(server, other *load) float64 {
	return 1 + float64(w.stretch*server.busy()*other.sm)
}

// leaves is the speed that a server which takes σ times as long leaves another.
func (w serverLaw) leaves(server, other *load, stretch float64) float64 {
	if other.sm == 0 {
		return 1
	}
	active := min(1, server.serves*stretch)
	during := min(1, max(0, w.room-float64(w.give*server.busy()/stretch))/other.sm)
	return 1 - float64(active*(1-during))
}

// serving says that one of a pair is a server.
func serving(own, other *load) bool { return own.serves > 0 || other.serves > 0 }

// servers reports whether a set has a server, and whether anybody in it uses the GPU.
func servers(set []member) (some, present bool) {
	for i := range set {
		some, present = some || set[i].serves > 0, present || set[i].present > 0
	}
	return some, present
}

// lawLoss is the part of a pair with a server that the law says: of the server what it
// loses to the busy time of the other, whatever is learned of their types comes on top; of
// a training what the server leaves it, as slow as what is known of the pair makes it. It
// is loss less the training's own part then, which says nothing more.
func (r *regime) lawLoss(own, other *member) float64 {
	law, curve := serverLawOf(r.mechanism), r.curve()
	if own.serves > 0 {
		return curve.ofSlowdown(law.stretched(&own.load, &other.load) - 1)
	}
	loss := r.pairLoss(other, own, 0) + r.ownLoss(other, own.present)
	speed := law.leaves(&other.load, &own.load, 1+max(0, curve.slowdown(loss)))
	return curve.loss(speed) - r.ownLoss(own, other.present)
}

// Latency returns the mean time to an answer of a server, and the time that 99 of 100
// answers keep. Both are in seconds and follow from its speed beside others, see
// [Predictor.Speeds]. They are +Inf where requests that come at random come faster than
// they are served.
//
// Of requests that come evenly the slowest hundredth waits 9 ms more under MPS and 1.5 ms
// in turns. That is what tally-bench's servers of 4 ms and 2 s an answer did on an A100. Of
// requests at random it waits for others, ln 100 times the mean (M/M/1). O(1).
func Latency(server *profile.Server, mech profile.Mechanism, speed predict.Estimate) (mean, p99 predict.Estimate) {
	mean, p99 = speed, speed
	last := func(mean float64) float64 {
		slice := 0.0015
		switch mech {
		case profile.MPS:
			slice = 0.009
		case profile.TimeSlice:
		default:
			slice = 0
		}
		if !server.Even {
			mean *= math.Log(100)
		}
		return 1.015*mean + slice
	}
	mean.Value, mean.Lo, mean.Hi = server.Latency(speed.Value), server.Latency(speed.Hi), server.Latency(speed.Lo)
	p99.Value, p99.Lo, p99.Hi = last(mean.Value), last(mean.Lo), last(mean.Hi)
	return mean, p99
}
