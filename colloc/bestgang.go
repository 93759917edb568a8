package colloc

import (
	"cmp"
	"slices"

	"example.com/colloc/packer"
)

// BestGang returns the places of the GPUs of one product on which a gang gains most, with the verdict on
// the first of them: those where the sum of what [Planner.Score] weighs is largest, less what its
// slowest GPU costs it on the others. So it joins others where it must, on some of its GPUs or on
// all. A [Planner.Scheduler] without budget weighs the same, and knows machines, too. None where
// there are too few GPUs that it fits on and gains by: the verdict is then that of [Planner.Best], with
// [packer.TooFewGPUs] if it fits on one. Ties and errors as for [Planner.Best]; the cost is that of
// Best, and a look at the GPUs for each speed that the task has on them.
func (p *Planner) BestGang(task Task, gpus []GPU) ([]int, Verdict, error) {
	if err := p.ready(); err != nil {
		return nil, Verdict{}, err
	}
	if err := task.Validate(); err != nil {
		return nil, Verdict{}, err
	}
	needed, err := p.needs(&task)
	if err != nil {
		return nil, Verdict{}, err
	}
	s := p.acquire()
	defer p.release(s)
	b := p.choice(len(gpus))
	defer p.forget(b)
	at, v, err := p.best(&task, gpus, s, b, &needed)
	if err != nil || at < 0 {
		return nil, v, err
	}
	var products [][]berth
	for i := range gpus {
		j, err := p.judgeOnce(&task, &gpus[i], s, b, &needed)
		if err != nil {
			return nil, Verdict{}, err
		}
		if !j.fits || j.gain <= 0 {
			continue
		}
		k := slices.IndexFunc(products, func(of []berth) bool { return gpus[of[0].at].interchangeable(&gpus[i]) })
		if k < 0 {
			k = len(products)
			products = append(products, nil)
		}
		products[k] = append(products[k], berth{i, j.gain, j.speed})
	}
	best, most := []int(nil), 0.0
	for _, of := range products {
		if on, sum := choose(of, gpus, task.Width()); sum > most {
			best, most = on, sum
		}
	}
	if best == nil {
		v.Fits, v.Code = false, packer.TooFewGPUs
		return nil, v, nil
	}
	s.reset()
	v, err = p.fitNeed(&task, &gpus[best[0]], s, p.scale().onItsOwn(), &needed)
	return best, v, err
}

// berth is a GPU that a gang may take, with what it gains there and how fast it is.
type berth struct {
	at          int
	gain, speed float64
}

// choose takes those of some GPUs of one product where a gang gains most, and says how much: for each
// speed that its slowest may have, those that cost others least.
func choose(of []berth, gpus []GPU, width int) (best []int, most float64) {
	slices.SortStableFunc(of, func(a, b berth) int {
		return cmp.Or(cmp.Compare(b.gain-b.speed, a.gain-a.speed), cmp.Compare(gpus[a.at].Total(), gpus[b.at].Total()), cmp.Compare(gpus[a.at].ID, gpus[b.at].ID))
	})
	var speeds []float64
	for _, b := range of {
		speeds = append(speeds, b.speed)
	}
	slices.Sort(speeds)
	for _, slowest := range slices.Backward(slices.Compact(speeds)) {
		var on []int
		sum := float64(slowest * float64(width))
		for _, b := range of {
			if b.speed >= slowest && len(on) < width {
				on = append(on, b.at)
				sum += b.gain - b.speed
			}
		}
		if len(on) == width && sum > most {
			best, most = on, sum
		}
	}
	slices.Sort(best)
	return best, most
}
