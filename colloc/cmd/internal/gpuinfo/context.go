package gpuinfo

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"example.com/colloc/internal/tail"
	"example.com/colloc/nvmlx"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// contextProbe makes a CUDA context and loads what training loads, says
// "ready VERSION", and waits for the end of its input.
//
//go:embed context_probe.py
var contextProbe string

// probeCommand runs the probe by the interpreter that has PyTorch.
func probeCommand(python string) []string { return []string{python, "-c", contextProbe} }

// printContext prints the Host as JSON, as [memory.Predictor] takes it.
func printContext(ctx context.Context, src nvmlx.Source, python string, out io.Writer) error {
	host, err := measureContext(ctx, src, probeCommand(python))
	if err != nil {
		return fmt.Errorf("-context: %w", err)
	}
	return json.NewEncoder(out).Encode(host)
}

// measureContext finds what a bare context of the training framework costs on an
// idle GPU: the memory in use with one process that has one, less that without.
func measureContext(ctx context.Context, src nvmlx.Source, command []string) (predict.Host, error) {
	gpu, err := idleGPU(ctx, src)
	if err != nil {
		return predict.Host{}, err
	}
	before, err := memoryInUse(ctx, src, gpu.ID)
	if err != nil {
		return predict.Host{}, err
	}
	var after profile.Bytes
	version, err := withProbe(ctx, gpu.ID, command, func() error {
		after, err = memoryInUse(ctx, src, gpu.ID)
		return err
	})
	if err != nil {
		return predict.Host{}, err
	}
	return predict.HostFromProbe(gpu.Name, version, before, after)
}

// idleGPU returns the first device, of those in CUDA_VISIBLE_DEVICES where that is
// set, on which nobody computes, as far as the source tells.
func idleGPU(ctx context.Context, src nvmlx.Source) (nvmlx.DeviceInfo, error) {
	devices, err := src.Devices(ctx)
	if err != nil {
		return nvmlx.DeviceInfo{}, err
	}
	if len(devices) == 0 {
		return nvmlx.DeviceInfo{}, errors.New("there is a driver, but no GPU")
	}
	if list, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		if devices = nvmlx.Visible(devices, list); len(devices) == 0 {
			return nvmlx.DeviceInfo{}, fmt.Errorf("CUDA_VISIBLE_DEVICES=%s names no GPU here", list)
		}
	}
	reader, _ := src.(nvmlx.ProcessReader)
	busy := 0
	for _, d := range nvmlx.Runnable(devices) {
		if reader == nil {
			return d, nil
		}
		others, _ := reader.Processes(ctx, d.ID) // where that is not told, the user has to know
		others = slices.DeleteFunc(others, func(p nvmlx.Process) bool { return p.Kind == nvmlx.GraphicsProcess })
		if len(others) == 0 {
			return d, nil
		}
		busy += len(others)
	}
	return nvmlx.DeviceInfo{}, fmt.Errorf("no idle GPU among %d: %d processes compute there", len(devices), busy)
}

func memoryInUse(ctx context.Context, src nvmlx.Source, id nvmlx.DeviceID) (profile.Bytes, error) {
	s, err := src.Read(ctx, id, nvmlx.FieldMemUsed)
	if err != nil {
		return 0, err
	}
	used, ok := s.MemUsed.Get()
	if !ok {
		return 0, fmt.Errorf("%s: the driver does not tell the memory in use", id)
	}
	return used, nil
}

// withProbe runs the command on one GPU, calls look once it is ready, ends it,
// and returns the version that it told.
func withProbe(ctx context.Context, id nvmlx.DeviceID, command []string, look func() error) (version string, err error) {
	const patience = 2 * time.Minute // a cold file system takes its time to load PyTorch
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES="+string(id))
	cmd.WaitDelay = time.Second
	var complaints tail.Buffer
	cmd.Stderr = &complaints
	input, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("%w: -python names the interpreter that has PyTorch", err)
	}
	line, _ := bufio.NewReader(output).ReadString('\n') // an early end shows below
	version, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if ready {
		err = look()
	}
	err = errors.Join(err, input.Close(), cmd.Wait())
	if !ready {
		err = errors.Join(fmt.Errorf("the probe did not get ready%s", complaints.Quoted()), ctx.Err(), err)
	}
	return version, err
}
