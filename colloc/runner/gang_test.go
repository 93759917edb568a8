//go:build linux

package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// gangOf is a task of n GPUs that tells what it sees and waits for a file.
func gangOf(n int, id, file string) Task {
	s := shell(`echo "$CUDA_VISIBLE_DEVICES $MASTER_ADDR:$MASTER_PORT $PET_MASTER_PORT"; until [ -e "$1" ]; do sleep 0.01; done`, file)
	s.ID, s.GPUs, s.Memory = id, n, 30*profile.GiB
	return s
}

// TestGang runs tasks of two GPUs beside others: each gets all its GPUs at once, sees them all,
// and has a port of its own.
func TestGang(t *testing.T) {
	dir := t.TempDir()
	released := filepath.Join(dir, "go")
	g := newRig(t, dir, gpuFile(5), nil)
	single := shell(`until [ -e "$1" ]; do sleep 0.01; done`, released)
	single.Memory = 16 * profile.GiB
	g.submit(t, single, gangOf(2, "a", released), gangOf(2, "b", released), single, gangOf(2, "waits", released))
	done := g.start(t)
	for _, id := range []string{"1", "a", "b", "4"} {
		g.inState(t, id, Running)
	}
	var seen []nvmlx.DeviceID
	ports := make(map[string]bool)
	for _, id := range []string{"a", "b"} {
		r := g.record(t, id)
		seen = append(seen, r.GPUs...)
		if len(r.GPUs) != 2 || r.GPU != r.GPUs[0] || r.Reserved != 30*profile.GiB {
			t.Errorf("task %s is on %v with %v reserved", id, r.GPUs, r.Reserved)
		}
		waitFor(t, func() bool { return strings.Contains(output(t, r), "\n") })
		fields := strings.Fields(output(t, r))
		if len(fields) != 3 || fields[0] != string(r.GPUs[0])+","+string(r.GPUs[1]) || fields[1] != "127.0.0.1:"+fields[2] {
			t.Errorf("task %s sees %q", id, fields)
		}
		ports[fields[len(fields)-1]] = true
	}
	slices.Sort(seen)
	if len(ports) != 2 || len(slices.Compact(seen)) != 4 {
		t.Errorf("ports %v, GPUs %v: want all apart", ports, seen)
	}
	for _, s := range g.GPUs() {
		if slices.Contains(s.Tasks, "1") != slices.Contains(s.Tasks, "4") || s.Reserved == 0 {
			t.Errorf("GPU %s has tasks %q, %v reserved", s.Device.ID, s.Tasks, s.Reserved)
		}
	}
	waitFor(t, func() bool { return g.record(t, "waits").Waiting != "" })
	if r := g.record(t, "waits"); r.State != Queued || !strings.Contains(r.Waiting, "2 more GPUs with 30 GiB would run it") {
		t.Errorf("the third gang is %v: %s", r.State, r.Waiting)
	}
	if err := os.WriteFile(released, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, r := range g.Records() {
		if r.State != Succeeded || r.Runs != 1 {
			t.Errorf("task %s is %v after %d runs: %s", r.Task.ID, r.State, r.Runs, r.Err)
		}
	}
}

// TestGangShares starts a task of two GPUs beside others.
func TestGangShares(t *testing.T) {
	dir := t.TempDir()
	released := filepath.Join(dir, "go")
	g := newRig(t, dir, gpuFile(2), nil)
	gang, single := gangOf(2, "gang", released), shell(`until [ -e "$1" ]; do sleep 0.01; done`, released)
	gang.Memory = 20 * profile.GiB
	g.submit(t, single, gang, single)
	done := g.start(t)
	for _, id := range []string{"1", "gang", "3"} {
		g.inState(t, id, Running)
	}
	for i, s := range g.GPUs() {
		if len(s.Tasks) != 2 || !slices.Contains(s.Tasks, "gang") || s.Reserved != 21*profile.GiB {
			t.Errorf("GPU %d has tasks %q, %v reserved", i, s.Tasks, s.Reserved)
		}
	}
	if err := os.WriteFile(released, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestGangWaits lets small tasks pass one of several GPUs, but not for ever.
func TestGangWaits(t *testing.T) {
	t.Parallel()
	const small = 80
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(2), func(c *Config) { c.PerGPU = 2 })
	holds := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	holds.ID, holds.Memory = "holds", 20*profile.GiB
	gang := Task{ID: "gang", Command: []string{"true"}, GPUs: 2, Memory: 30 * profile.GiB}
	g.submit(t, holds, gang)
	for range small {
		g.submit(t, shell("true"))
	}
	done := g.start(t)
	waitFor(t, func() bool {
		passed := 0
		for _, r := range g.Records()[2:] {
			if r.State == Succeeded {
				passed++
			}
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		return passed >= patience && passed < small && len(g.queue.Active) == 1
	})
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r := g.record(t, "gang"); r.State != Succeeded || !r.Started.Before(g.Records()[1+small].Started) {
		t.Errorf("the gang is %v, started %v", r.State, r.Started)
	}
}

// TestGangFaults asks for GPUs that there are not, or not of one product.
func TestGangFaults(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, `{"gpus": [{"name": "A100-40GB"}, {"name": "V100-SXM2-16GB"}]}`, nil)
	for n, want := range map[int]string{-1: "GPUs is -1, want 0 for one, or up to the 2 that there are", 3: "GPUs is 3, want"} {
		if _, err := g.Submit(gangOf(n, "", dir)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d GPUs: error is %v", n, err)
		}
	}
	g.submit(t, gangOf(2, "pair", dir))
	if r := g.finish(t)[0]; r.State != Failed || !strings.HasPrefix(r.Err, "fits no GPU: pair waits: there are too few GPUs of one type") {
		t.Errorf("%v: %s", r.State, r.Err)
	}
}

// TestGangAdopted leaves a task of two GPUs running, opens the queue again and takes
// one of its GPUs away: it is in the books of both, and runs again on two others.
func TestGangAdopted(t *testing.T) {
	dir := t.TempDir()
	released := filepath.Join(dir, "go")
	g := newRig(t, dir, gpuFile(4), nil)
	g.leaveRunning(t, gangOf(2, "pair", released))
	again := newRig(t, dir, gpuFile(4), nil)
	for i, s := range again.GPUs() {
		if want := i < 2; (len(s.Tasks) == 1) != want || (s.Reserved == 30*profile.GiB) != want {
			t.Errorf("GPU %d has tasks %q, %v reserved", i, s.Tasks, s.Reserved)
		}
	}
	done := again.start(t)
	lost := strings.Replace(gpuFile(4), `"A100-40GB"}`, `"A100-40GB", "lost": true}`, 1)
	again.rewrite(t, lost)
	waitFor(t, func() bool { r := again.record(t, "pair"); return r.Runs == 2 && r.State == Running })
	if r := again.record(t, "pair"); slices.Contains(r.GPUs, "GPU-fake-0") || len(r.GPUs) != 2 {
		t.Errorf("it runs on %v", r.GPUs)
	}
	if err := os.WriteFile(released, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r := again.record(t, "pair"); r.State != Succeeded || r.LostRuns != 1 {
		t.Errorf("%v, %d runs lost: %s", r.State, r.LostRuns, r.Err)
	}
	noProcess(t, dir)
}
