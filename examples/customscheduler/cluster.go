package main

import (
	"log"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// job is a task and how much work it has, in minutes alone on a GPU.
type job struct {
	task colloc.Task
	work float64
}

// jobs are six training tasks with solo observations such as nvidia-smi gives.
func jobs(gpu profile.GPUModel) []job {
	var list []job
	for _, j := range []struct {
		name       string
		busy, mem  float64
		peak       profile.Bytes
		soloMinute float64
	}{
		{"resnet", 0.96, 0.70, 14 * profile.GiB, 30},
		{"pointnet-a", 0.12, 0.10, 4 * profile.GiB, 20},
		{"dcgan", 0.58, 0.20, 3 * profile.GiB, 25},
		{"pointnet-b", 0.12, 0.10, 4 * profile.GiB, 20},
		{"mobilenet", 0.45, 0.20, 3 * profile.GiB, 15},
		{"efficientnet", 0.25, 0.03, 3 * profile.GiB, 35},
	} {
		sample := profile.Sample{GPUBusy: profile.Some(j.busy), MemBusy: profile.Some(j.mem), MemUsed: profile.Some(j.peak)}
		spec := profile.Spec{Model: profile.Model{Name: j.name}, Training: profile.Training{BatchSize: 64}}
		p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{sample}}, gpu)
		if err != nil {
			log.Fatal(err)
		}
		list = append(list, job{colloc.Task{ID: j.name, Profile: &p}, j.soloMinute})
	}
	return list
}

// cluster runs tasks in virtual time. Tasks on one GPU slow each other down by
// a rule that the planner does not know.
type cluster struct {
	now     time.Time
	running []*process
}

type process struct {
	job  job
	gpu  string
	left float64 // minutes of solo work
}

func (c *cluster) clock() string { return c.now.Format("15:04") }

func (c *cluster) start(j job, gpu string) {
	c.running = append(c.running, &process{j, gpu, j.work})
}

// speed is the truth: a neighbour costs what both want of the GPU at once.
func (c *cluster) speed(p *process) float64 {
	speed := 1.0
	for _, q := range c.running {
		if q != p && q.gpu == p.gpu {
			own, _ := p.job.task.Profile.Vector.Get(profile.MeanGPUBusy)
			other, _ := q.job.task.Profile.Vector.Get(profile.MeanGPUBusy)
			speed -= 0.05 + 0.3*own*other
		}
	}
	return speed
}

// advance runs until the next task ends and returns it with what was measured
// of its set.
func (c *cluster) advance() (job, []colloc.Measurement, profile.GPUModel) {
	next := 0
	for i, p := range c.running {
		if p.left/c.speed(p) < c.running[next].left/c.speed(c.running[next]) {
			next = i
		}
	}
	done := c.running[next]
	minutes := done.left / c.speed(done)
	var set []colloc.Measurement
	speeds := make([]float64, len(c.running))
	for i, p := range c.running {
		speeds[i] = c.speed(p)
		if p.gpu == done.gpu {
			set = append(set, colloc.Measurement{Profile: p.job.task.Profile, Speed: profile.Some(speeds[i])})
		}
	}
	for i, p := range c.running {
		p.left -= minutes * speeds[i]
	}
	c.now = c.now.Add(time.Duration(minutes * float64(time.Minute)))
	c.running = append(c.running[:next:next], c.running[next+1:]...)
	return done.job, set, done.job.task.Profile.GPU
}
