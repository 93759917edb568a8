package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"example.com/colloc/colloc/cmd/internal/burn"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/gonvml"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// host is where the tasks run.
type host struct {
	source  nvmlx.Source
	devices []nvmlx.DeviceInfo
	models  map[nvmlx.DeviceID]profile.GPUModel
	env     []string // what tasks inherit
	self    string   // this program, if the command burn stands for it
}

// openHost finds the GPUs that the options ask for and turns their numbers into
// UUIDs. dir is where fake GPUs are kept.
func openHost(ctx context.Context, o *options, dir string) (_ *host, err error) {
	h := &host{env: os.Environ(), models: make(map[nvmlx.DeviceID]profile.GPUModel)}
	if o.fakeGPUs != "" {
		fake, err := burn.OpenGPUs(o.fakeGPUs, dir)
		if err != nil {
			return nil, fmt.Errorf("-fake-gpus: %w", err)
		}
		if h.self, err = linkSelf(dir); err != nil {
			return nil, err
		}
		h.source, h.env = fake, append(h.env, fake.Env()...)
	} else if h.source, err = gonvml.Open(nil); err != nil {
		return nil, fmt.Errorf("no GPU: %w\n-fake-gpus FILE runs without one; such a file:\n  echo '{\"gpus\": [{\"name\": \"A100-40GB\"}, {\"name\": \"A100-40GB\"}]}' >gpus.json", err)
	} else if pipe := mps.PipeDir(h.env); slices.Contains(o.mechanisms, profile.MPS) && !mps.Running(pipe) {
		return nil, errors.Join(fmt.Errorf("-share mps: no MPS daemon listens in %s: start one with nvidia-cuda-mps-control -d, "+
			"or name the folder of yours in CUDA_MPS_PIPE_DIRECTORY", pipe), h.source.Close())
	}
	h.devices, err = h.source.Devices(ctx)
	if err == nil {
		err = h.choose(o)
	}
	if err != nil {
		return nil, errors.Join(err, h.source.Close())
	}
	return h, nil
}

// linkSelf makes a link to this program that a resumed sweep makes anew: that of
// "go run" has another place every time.
func linkSelf(dir string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	link, err := filepath.Abs(filepath.Join(dir, "colloc"))
	if err != nil {
		return "", err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return link, os.Symlink(self, link)
}

// choose turns -gpus into IDs; without it, CUDA_VISIBLE_DEVICES chooses, as a batch
// system sets it.
func (h *host) choose(o *options) error {
	if len(h.devices) == 0 {
		if o.fakeGPUs != "" {
			return fmt.Errorf("-fake-gpus: %s lists no GPU: write {\"gpus\": [{\"name\": \"A100-40GB\"}]}", o.fakeGPUs)
		}
		return errors.New("the driver lists no GPU; -fake-gpus FILE runs without one")
	}
	var all []string
	for _, d := range h.devices {
		h.models[d.ID], _ = d.GPU()
		all = append(all, fmt.Sprintf("%d (%s)", d.Index, d.ID))
	}
	there := "there are " + strings.Join(all, ", ")
	for i, name := range o.gpus {
		found := nvmlx.Visible(h.devices, string(name))
		if len(found) != 1 {
			return fmt.Errorf("-gpus: there is no GPU %q; %s", name, there)
		}
		o.gpus[i] = found[0].ID
	}
	list, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	if !set || len(o.gpus) > 0 || o.fakeGPUs != "" {
		return nil
	}
	for _, d := range nvmlx.Visible(h.devices, list) {
		o.gpus = append(o.gpus, d.ID)
	}
	if len(o.gpus) == 0 {
		return fmt.Errorf("CUDA_VISIBLE_DEVICES=%s leaves no GPU: unset it, or choose with -gpus; %s", list, there)
	}
	return nil
}

// used returns the devices that the sweep uses: all that programs run on, or those
// of -gpus.
func (h *host) used(o *options) []nvmlx.DeviceInfo {
	return slices.DeleteFunc(nvmlx.Runnable(h.devices), func(d nvmlx.DeviceInfo) bool {
		return len(o.gpus) > 0 && !slices.Contains(o.gpus, d.ID) && !slices.Contains(o.gpus, d.Parent)
	})
}

// command is what to run for the command of a task.
func (h *host) command(words []string, shell bool) []string {
	if h.self == "" || shell || words[0] != "burn" {
		return words
	}
	return append([]string{h.self}, words...)
}

// fits reports memory, or a number of GPUs, that the host has not, before the first
// task is watched for long.
func (h *host) fits(o *options) error {
	if n := len(h.used(o)); o.taskGPUs > n {
		return fmt.Errorf("-gpus-per-task %d: there are %d GPUs to use", o.taskGPUs, n)
	}
	var most profile.Bytes
	for _, d := range h.used(o) {
		most = max(most, profile.BytesOf((1-packer.DefaultHeadroom)*float64(d.Memory.Or(h.models[d.ID].Memory))))
	}
	if o.memory > most && most > 0 {
		return fmt.Errorf("-mem %v: no GPU has as much: the largest offers %v, with %.0f %% left free", o.memory, most, 100*packer.DefaultHeadroom)
	}
	return nil
}

// find reports a program that is not there, before hundreds of tasks do.
func (h *host) find(jobs []grammar.Job, shell bool) error {
	if shell {
		return nil
	}
	found := make(map[string]bool)
	for _, j := range jobs {
		program := h.command(j.Command, shell)[0]
		if found[program] {
			continue
		}
		if _, err := exec.LookPath(program); err != nil && !errors.Is(err, exec.ErrDot) {
			if errors.Is(err, fs.ErrPermission) {
				return fmt.Errorf("task %s: the command %q may not be executed: chmod +x makes it a program, or name its interpreter", j.ID, program)
			}
			return fmt.Errorf("task %s: the command %q does not exist: %w; with -shell a shell reads the command", j.ID, program, errors.Unwrap(err))
		}
		found[program] = true
	}
	return nil
}
