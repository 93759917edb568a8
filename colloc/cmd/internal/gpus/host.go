package gpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/colloc/colloc/cmd/internal/burn"
	"example.com/colloc/internal/replace"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/gonvml"
	"example.com/colloc/profile"
)

// Host is where tasks run.
type Host struct {
	Source  nvmlx.Source
	Devices []nvmlx.DeviceInfo
	Models  map[nvmlx.DeviceID]profile.GPUModel
	Env     []string // what tasks inherit
	Extra   []string // of that, what leads to the GPUs
	Self    string   // this program, if the command burn stands for it
	fake    string
}

// Open finds the GPUs: fake ones, which are kept in dir, from a file or from [Words] such as "2xA100-40GB"; those of the
// driver, if fake is empty. Close Source in the end.
func Open(ctx context.Context, fake, dir string) (*Host, error) {
	h := &Host{Env: os.Environ(), Models: make(map[nvmlx.DeviceID]profile.GPUModel), fake: fake}
	var err error
	if fake != "" {
		file, err := makeUp(fake, dir)
		if err != nil {
			return nil, fmt.Errorf("-fake-gpus %s: %w", fake, err)
		}
		source, err := burn.OpenGPUs(file, dir)
		if err != nil {
			return nil, fmt.Errorf("-fake-gpus: %w", err)
		}
		if h.Self, err = linkSelf(dir); err != nil {
			return nil, err
		}
		h.Source, h.Extra, h.Env = source, source.Env(), append(h.Env, source.Env()...)
	} else if h.Source, err = gonvml.Open(nil); err != nil {
		return nil, fmt.Errorf("no GPU: %w\n-fake-gpus 2xA100-40GB runs without one", err)
	}
	h.Devices, err = h.Source.Devices(ctx)
	if err == nil && len(h.Devices) == 0 {
		err = errors.New("the driver lists no GPU; -fake-gpus 2xA100-40GB runs without one")
		if fake != "" {
			err = fmt.Errorf("-fake-gpus: %s lists no GPU: write {\"gpus\": [{\"name\": \"A100-40GB\"}]}", fake)
		}
	}
	if err != nil {
		return nil, errors.Join(err, h.Source.Close())
	}
	for _, d := range h.Devices {
		h.Models[d.ID], _ = d.GPU()
	}
	return h, nil
}

// makeUp returns the file with fake GPUs: the one that is named, or one in dir that it makes from words.
func makeUp(fake, dir string) (string, error) {
	if _, err := os.Stat(fake); !errors.Is(err, fs.ErrNotExist) {
		return fake, nil // what else is wrong with it is told who reads it
	}
	models, err := Words(fake)
	if err != nil {
		return "", err
	}
	type gpu struct {
		Name string `json:"name"`
	}
	var file struct {
		GPUs []gpu `json:"gpus"`
	}
	for i := range models {
		file.GPUs = append(file.GPUs, gpu{models[i].Name})
	}
	text, err := json.Marshal(&file)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	name, err := filepath.Abs(filepath.Join(dir, "gpus.json"))
	if err != nil {
		return "", err
	}
	return name, replace.Shared(name, 0o644, text) // tasks of other users read it, too
}

// Share lets tasks of all users use the GPUs: fake ones are files.
func (h *Host) Share() error {
	fake, ok := h.Source.(*burn.GPUs)
	if !ok {
		return nil
	}
	if err := fake.Share(); err != nil {
		return fmt.Errorf("-fake-gpus: %w", err)
	}
	return nil
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

// Choose turns numbers and UUIDs into IDs; without any, CUDA_VISIBLE_DEVICES
// chooses, as a batch system sets it, and without that nothing: all are meant.
func (h *Host) Choose(flag string, names []nvmlx.DeviceID) ([]nvmlx.DeviceID, error) {
	var all []string
	for _, d := range h.Devices {
		all = append(all, fmt.Sprintf("%d (%s)", d.Index, d.ID))
	}
	there := "there are " + strings.Join(all, ", ")
	var chosen []nvmlx.DeviceID
	for _, name := range names {
		found := nvmlx.Visible(h.Devices, string(name))
		if len(found) != 1 {
			return nil, fmt.Errorf("%s: there is no GPU %q; %s", flag, name, there)
		}
		chosen = append(chosen, found[0].ID)
	}
	list, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	if !set || len(chosen) > 0 || h.fake != "" {
		return chosen, nil
	}
	for _, d := range nvmlx.Visible(h.Devices, list) {
		chosen = append(chosen, d.ID)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("CUDA_VISIBLE_DEVICES=%s leaves no GPU: unset it, or choose with %s; %s", list, flag, there)
	}
	return chosen, nil
}

// Use returns the devices that programs run on, of those that are chosen; without any, all.
func (h *Host) Use(chosen []nvmlx.DeviceID) []nvmlx.DeviceInfo {
	return slices.DeleteFunc(nvmlx.Runnable(h.Devices), func(d nvmlx.DeviceInfo) bool {
		return len(chosen) > 0 && !slices.Contains(chosen, d.ID) && !slices.Contains(chosen, d.Parent)
	})
}

// Command is what to run for a command: where GPUs are fake, this program plays
// the training "burn".
func (h *Host) Command(words []string) []string {
	if h.Self == "" || words[0] != "burn" {
		return words
	}
	return append([]string{h.Self}, words...)
}
