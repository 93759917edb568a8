//go:build linux

package station_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/colloc/station"
	"example.com/colloc/colloc/station/api"
)

// A program that runs a station in itself, with a GPU that is not there, and a client.
func Example() {
	if err := share(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: job 1 of A100-40GB is succeeded: hello
}

func share(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "station")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "gpus.json")
	if err := os.WriteFile(file, []byte(`{"gpus": [{"name": "A100-40GB"}]}`), 0o600); err != nil {
		return err
	}
	source, err := fakegpu.Open(file, filepath.Join(dir, "uses"))
	if err != nil {
		return err
	}
	s, err := station.New(ctx, station.Config{Config: runner.Config{Dir: filepath.Join(dir, "state"), Source: source, Env: source.Env()}})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	l, err := station.Listen(filepath.Join(dir, "socket"), false)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	served := make(chan error, 2)
	defer func() {
		stop()
		_ = errors.Join(<-served, <-served) // they were told to end
	}()
	go func() { served <- s.Serve(ctx, l) }()
	go func() { served <- s.Run(ctx) }()

	client := api.NewClient(filepath.Join(dir, "socket"))
	defer client.Close()
	ids, err := client.Submit(ctx, api.Task{Command: []string{"/bin/echo", "hello"}, Dir: dir})
	if err != nil {
		return err
	}
	jobs, err := client.Wait(ctx, ids...)
	if err != nil {
		return err
	}
	state, err := client.State(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("job %s of %s is %v: ", jobs[0].ID, state.GPUs[0].Name, jobs[0].State)
	return client.Log(ctx, os.Stdout, ids[0], false)
}
