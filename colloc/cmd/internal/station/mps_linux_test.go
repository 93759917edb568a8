package station

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station"
	"example.com/colloc/internal/testbed"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/profile"
)

// control plays the driver's program: it notes which GPU a daemon is for, and answers while its socket is there.
const control = `#!/bin/sh
cd "$CUDA_MPS_PIPE_DIRECTORY" || exit 1
if [ "$1" = -d ]; then echo "$CUDA_VISIBLE_DEVICES" >>started; touch control; exit; fi
test -e control && ! test -e broken
`

// TestBackground: for each GPU of the station a daemon answers in a folder of its own, and is started once; where none can be,
// jobs share in turns, and who starts the station is told.
func TestBackground(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	if err := testbed.Program(filepath.Join(bin, mps.Program), []byte(control)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("CUDA_MPS_PIPE_DIRECTORY", filepath.Join(dir, "none"))
	found := &gpus.Host{Env: os.Environ(), Devices: []nvmlx.DeviceInfo{{ID: "GPU-aaaa-000000000001"}, {ID: "GPU-aaaa-000000000002"}, {ID: "GPU-aaaa-000000000003"}}}
	both := []profile.Mechanism{profile.MPS, profile.TimeSlice}
	at := func(ways []profile.Mechanism) (*serving, *station.Config) {
		o := &serving{dir: dir, me: true}
		c := &station.Config{Config: runner.Config{Mechanisms: ways, GPUs: []nvmlx.DeviceID{"GPU-aaaa-000000000001", "GPU-aaaa-000000000002"}}}
		o.background(t.Context(), found, c)
		return o, c
	}
	for range 2 {
		o, c := at(both)
		if len(o.notes) > 0 || !slices.Equal(c.Mechanisms, both) {
			t.Fatalf("%v, notes %q", c.Mechanisms, o.notes)
		}
		for _, id := range c.GPUs {
			text, err := os.ReadFile(filepath.Join(c.MPSPipeDir(id), "started"))
			if err != nil || string(text) != string(id)+"\n" {
				t.Errorf("for %s daemons were started for %q: %v", id, text, err)
			}
		}
	}
	if o, c := at(nil); len(c.Mechanisms) > 0 || c.MPSPipeDir != nil || len(o.notes) != 1 || !strings.Contains(o.notes[0], "one user at a time") {
		t.Errorf("without -share: %v, notes %q", c.Mechanisms, o.notes)
	}
	if err := testbed.Program(filepath.Join(bin, mps.Program), []byte("#!/bin/sh\nexit 1\n")); err != nil {
		t.Fatal(err)
	}
	if o, c := at(both); !slices.Equal(c.Mechanisms, both[1:]) || len(o.notes) != 1 || !strings.Contains(o.notes[0], "in turns") {
		t.Errorf("without a daemon: %v, notes %q", c.Mechanisms, o.notes)
	}
}
