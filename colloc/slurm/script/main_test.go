package script

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/internal/testbed"
)

// dumpFile names, in the environment, the file into which this test program
// writes what it was started with: it is the task of scripts under test.
const dumpFile = "COLLOC_SLURM_DUMP"

// dump is what a task received.
type dump struct {
	Args [][]byte // bytes, so that JSON keeps what is no UTF-8
	Env  [][]byte
	Dir  []byte
}

func TestMain(m *testing.M) {
	testbed.Prepare()
	if file := os.Getenv(dumpFile); file != "" {
		if err := writeDump(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(99)
		}
		os.Exit(0)
	}
	race.Run(m)
}

func writeDump(file string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	d := dump{Dir: []byte(dir)}
	for _, a := range os.Args {
		d.Args = append(d.Args, []byte(a))
	}
	for _, e := range os.Environ() {
		d.Env = append(d.Env, []byte(e))
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
