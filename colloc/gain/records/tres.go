package records

import (
	"strconv"
	"strings"

	"example.com/colloc/colloc/slurm/site"
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

// saw puts what a step used into what was seen of its job.
func (j *Job) saw(most, mean, total site.Used) {
	u := site.Used{Busy: j.Seen.GPUBusy, Memory: j.Seen.Memory}
	u.Saw(most, mean, total, j.GPUs)
	j.Seen.GPUBusy, j.Seen.Memory = u.Busy, u.Memory
}
