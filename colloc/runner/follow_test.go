package runner_test

import (
	"fmt"
	"os"
	"path/filepath"

	"example.com/colloc/colloc/runner"
)

func ExampleFollow() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	log := filepath.Join(dir, "train.log")
	if err := os.WriteFile(log, []byte("step 7/100 loss=0.5\nstep 8/100"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	f, err := runner.Follow(log, `step (?P<step>\d+)/(?P<total>\d+)`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Read(false).Step, "of", f.Read(false).Total)
	fmt.Println(f.Read(true).Step) // the last line is whole
	// Output:
	// 7 of 100
	// 8
}
