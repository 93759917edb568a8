package rigtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"example.com/colloc/examples/measure/internal/simulated"
	"example.com/colloc/internal/testbed"
)

// State is what a machine is like.
type State string

// The machines.
const (
	WithMPS    State = "with MPS"
	WithoutMPS State = "without MPS" // its daemon does not start
	Shared     State = "shared"      // others compute on its GPUs
	Broken     State = "broken"      // nvidia-smi does not reach the driver
)

// stateEnv makes the test binary play the program by whose name it is called; its
// value is the state of the machine.
const stateEnv = "COLLOC_MEASURE_FAKE_MACHINE"

// The programs.
const (
	smiName     = "nvidia-smi"
	controlName = "nvidia-cuda-mps-control"
	pythonName  = "python3"
)

// Play does what a test started this process for, such as to be a workload or
// nvidia-smi, and ends it. In the process of the tests themselves it prepares for
// that and returns. It is the first call of TestMain.
func Play() {
	testbed.Prepare()
	state, task := State(os.Getenv(stateEnv)), os.Getenv(simulated.Env)
	var err error
	switch name := filepath.Base(os.Args[0]); {
	case task != "":
		err = simulated.Workload(task, os.Stdin, os.Stdout, os.Stderr)
	case state == "":
		return
	case name == smiName:
		err = playSMI(state, strings.Join(os.Args[1:], " "))
	case name == controlName:
		err = playControl(state, os.Args[1:])
	default:
		err = simulated.Workload(os.Args[len(os.Args)-1], os.Stdin, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// playSMI answers a query of nvidia-smi.
func playSMI(s State, query string) error {
	switch {
	case s == Broken:
		fmt.Println("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
		return errors.New("exit status 9")
	case strings.Contains(query, "compute-apps="):
		if s == Shared {
			fmt.Println("4711, python3, 1500\n4712, [Not Found], [N/A]")
		}
	case strings.Contains(query, "=driver_version"):
		fmt.Println("580.95.05")
	case strings.Contains(query, "=uuid,"):
		fmt.Println("GPU-1, 0, NVIDIA A100-SXM4-40GB, 40960, Disabled, Default")
		fmt.Println("GPU-2, 1, NVIDIA A100-SXM4-40GB, 40960, Enabled, Default")
		fmt.Println("GPU-3, 2, Tesla T4, 15360, [N/A], Exclusive_Process")
	default:
		fmt.Println("87, 40, 1536, [N/A], 1410, 1215, 61")
	}
	return nil
}

// playControl is the MPS daemon with -f, and else the client that passes one
// command on.
func playControl(s State, args []string) error {
	if s == WithoutMPS {
		return errors.New("no MPS on this machine")
	}
	socket := filepath.Join(os.Getenv("CUDA_MPS_PIPE_DIRECTORY"), "control")
	if len(args) == 0 {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return err
		}
		if _, err := io.Copy(conn, os.Stdin); err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, conn)
		return errors.Join(err, conn.Close())
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err := errors.Join(err, conn.Close()); err != nil {
			return err
		}
		if line == "quit\n" {
			return listener.Close()
		}
	}
}
