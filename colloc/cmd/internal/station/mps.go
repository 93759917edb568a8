package station

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/station"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/profile"
)

// background lets an MPS daemon answer for each GPU of the station, where -share asks for MPS and none of the machine's does. They
// outlive the station, as jobs do, and the next one uses them. Where that fails jobs share in turns.
func (o *serving) background(ctx context.Context, found *gpus.Host, c *station.Config) {
	at := slices.Index(c.Mechanisms, profile.MPS)
	switch {
	case o.fake != "" || at >= 0 && mps.Running(mps.PipeDir(found.Env)):
		return
	case at < 0:
		if _, err := exec.LookPath(mps.Program); err == nil && len(c.Mechanisms) == 0 {
			o.notes = append(o.notes, "-share mps,time-slicing lets jobs run on a GPU at the same time instead of in turns: that does a third more, but some run at less than half "+
				"their speed, a fault of one ends all on its GPU, and on each GPU MPS serves one user at a time")
		}
		return
	}
	dirs := make(map[nvmlx.DeviceID]string)
	for _, d := range found.Use(c.GPUs) {
		dirs[d.ID] = o.pipeDir(d.ID)
		err := o.openPipe(dirs[d.ID])
		if err == nil {
			_, err = mps.Background(ctx, mps.Config{PipeDir: dirs[d.ID], Devices: []nvmlx.DeviceID{d.ID}})
		}
		if err != nil {
			c.Mechanisms = slices.DeleteFunc(slices.Clone(c.Mechanisms), func(m profile.Mechanism) bool { return m == profile.MPS })
			o.notes = append(o.notes, fmt.Sprintf("jobs share in turns, and not by MPS: %v", err))
			return
		}
	}
	c.MPSPipeDir = func(id nvmlx.DeviceID) string { return dirs[id] }
}

// pipeDir is where jobs meet the daemon of a GPU: a path that is short, for sockets, and the same for the next station.
func (o *serving) pipeDir(id nvmlx.DeviceID) string {
	const enough = 12 // of what is random in it
	return filepath.Join(o.dir, "mps", string(id[max(0, len(id)-enough):]))
}

// openPipe makes such a folder, which users may pass through to the sockets if they may use the station.
func (o *serving) openPipe(dir string) error {
	mode := os.FileMode(0o700)
	if !o.me {
		mode = 0o711
	}
	return errors.Join(os.MkdirAll(dir, mode), os.Chmod(filepath.Dir(dir), mode), os.Chmod(dir, mode))
}
