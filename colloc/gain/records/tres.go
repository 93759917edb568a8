package records

import (
	"math"
	"strconv"
	"strings"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// maxGPUs is more than any job has.
const maxGPUs = 1 << 16

// gpusOf finds the GPUs in a list of trackable resources such as
// "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G", the type of most of them, and
// whether there are shares of GPUs instead.
func gpusOf(list string) (gpus int, product string, shares bool) {
	var asked []site.Gres
	for item := range strings.SplitSeq(list, ",") {
		_, count, _ := strings.Cut(item, "=")
		if n, err := strconv.Atoi(count); err != nil || n > maxGPUs || !strings.HasPrefix(item, "gres/") {
			continue
		}
		if h, err := site.ParseGres(item); err == nil && len(h) == 1 {
			asked = append(asked, h[0].Gres)
		}
	}
	gpus, product, shares = site.CountGPUs(asked)
	return min(gpus, maxGPUs), product, shares
}

// used are the GPUs' part in a list of what a step used: gres/gpuutil=87,gres/gpumem=1234M.
type used struct {
	util, memory profile.Opt[float64]
}

func usedOf(list string) (u used) {
	for list != "" {
		var item string
		item, list, _ = strings.Cut(list, ",")
		switch name, value, _ := strings.Cut(item, "="); name {
		case "gres/gpuutil":
			if v, err := strconv.ParseFloat(value, 64); err == nil && v <= 1e6 {
				u.util = profile.Some(v / 100)
			}
		case "gres/gpumem":
			if v, ok := amount(value); ok {
				u.memory = profile.Some(v)
			}
		}
	}
	return u
}

// amount reads 1234M and 1.5G as bytes; without a unit it is bytes.
func amount(s string) (float64, bool) {
	unit := 1.0
	if s != "" {
		if i := strings.IndexByte("KMGTP", s[len(s)-1]); i >= 0 {
			unit, s = math.Pow(1024, float64(i+1)), s[:len(s)-1]
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v * unit, err == nil && v*unit < 1<<50
}

// saw puts what a step used into what was seen of its job. Of several steps the busiest
// and the largest count. Usage of all tasks together falls on all GPUs evenly.
func (j *Job) saw(most, mean, total used) {
	busy, ok := total.util.Get()
	if ok {
		busy /= float64(max(1, j.GPUs))
	} else {
		busy, ok = mean.util.Get()
	}
	if ok && busy >= j.Seen.GPUBusy.Or(0) {
		j.Seen.GPUBusy = profile.Some(min(busy, 1))
	}
	if peak, ok := most.memory.Get(); ok && peak > float64(j.Seen.Memory.Or(0)) {
		j.Seen.Memory = profile.Some(profile.BytesOf(peak))
	}
}
