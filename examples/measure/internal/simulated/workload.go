package simulated

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/profile"
)

// Workload speaks the protocol of scripts/worker.py without doing any
// work, so that all but the GPU is real: processes, pipes, faults.
func Workload(name string, stdin io.Reader, stdout, stderr io.Writer) error {
	if name == childName {
		return playFault("hang", nil, stdout, stderr)
	}
	out := json.NewEncoder(stdout)
	hello := workload.Event{Event: workload.EventHello, Framework: workload.Framework{Torch: "simulated", Device: "Simulated GPU"}}
	hello.Total, hello.DeviceUsed = profile.Some(memory), profile.Some(driverMemory+TruthOf(name).Context)
	if err := out.Encode(hello); err != nil {
		return err
	}
	scanner := bufio.NewScanner(stdin)
	for scanner.Scan() {
		var c workload.Command
		if err := json.Unmarshal(scanner.Bytes(), &c); err != nil {
			return err
		}
		if c.Cmd == "quit" {
			return nil
		}
		if c.Act == nil { // nobody simulates: any part will do
			c.Act = &workload.Act{At: 1e9, Rate: 1000, Peak: profile.GiB}
		}
		if cmd, fault, _ := strings.Cut(c.Act.Fault, ":"); cmd == c.Cmd {
			return playFault(fault, &c, stdout, stderr)
		}
		if err := out.Encode(answer(name, &c)); err != nil {
			return err
		}
	}
	return scanner.Err()
}

// answer is what a workload in order says.
func answer(name string, c *workload.Command) workload.Event {
	if c.Cmd == "prepare" {
		t := TruthOf(name)
		spec := &profile.Spec{}
		spec.Model = profile.Model{Name: name, Family: profile.MLP, Layers: []profile.Layer{
			{Name: "dense", Kind: profile.Linear, Neurons: 1000, Params: int64(t.Peak) / 16, Activations: 1000},
		}}
		spec.Training = profile.Training{BatchSize: 32, Optimizer: profile.Adam}
		return workload.Event{Event: workload.EventReady, Spec: spec}
	}
	done := workload.Event{
		Event: workload.EventDone, Times: []float64{c.Act.At}, Counts: []int64{0},
		PeakAllocated: profile.Some(c.Act.Peak * 9 / 10), PeakReserved: profile.Some(c.Act.Peak),
		CPUSeconds: profile.Some(c.Warmup + c.Measure),
	}
	chunk := max(1, int64(c.Act.Rate*min(0.05, c.Measure/20)))
	for n, t := chunk, 0.0; t < c.Warmup+c.Measure; n += chunk {
		t = float64(n) / c.Act.Rate
		done.Times, done.Counts = append(done.Times, c.Act.At+t), append(done.Counts, n)
	}
	return done
}

// playFault does what a broken workload does.
func playFault(fault string, c *workload.Command, stdout, stderr io.Writer) error {
	switch fault {
	case "oom":
		return json.NewEncoder(stdout).Encode(workload.Event{
			Event: workload.EventOOM, Phase: c.Cmd, Message: "CUDA out of memory (simulated)",
			Free: profile.Some(c.Act.Free), Reserved: profile.Some(profile.Bytes(0)),
		})
	case "error":
		return json.NewEncoder(stdout).Encode(workload.Event{Event: workload.EventError, Phase: c.Cmd, Message: "RuntimeError: simulated"})
	case "garbage":
		_, err := fmt.Fprintln(stdout, "Segmentation fault, \x00 and more that is no JSON")
		return err
	case "spawn", "hang":
		if fault == "spawn" {
			if err := spawn(); err != nil {
				return err
			}
		}
		for {
			time.Sleep(time.Hour) // deaf to everything but a kill
		}
	}
	fmt.Fprintln(stderr, "a message on standard error")
	return errors.New("crashed as told")
}

// spawn starts a child that would outlive its parent and hold its third file,
// which tells a test when it is gone.
func spawn() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(program)
	child.Env = append(os.Environ(), Env+"="+childName)
	child.ExtraFiles = []*os.File{os.NewFile(3, "alive")}
	return child.Start()
}

// childName is the workload that only hangs.
const childName = "child"
