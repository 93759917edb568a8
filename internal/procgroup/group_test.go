//go:build unix

package procgroup_test

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"syscall"

	"example.com/colloc/internal/procgroup"
)

// The shell's child holds the pipe open: that it closes shows that Kill ended
// the child, too.
func ExampleKill() {
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo started; wait")
	procgroup.Own(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return
	}
	r := bufio.NewReader(out)
	line, _ := r.ReadString('\n')
	fmt.Print(line)
	procgroup.Kill(cmd)
	_, err = io.Copy(io.Discard, r)
	fmt.Println("closed:", err == nil, "- ended:", cmd.Wait())
	// Output:
	// started
	// closed: true - ended: signal: killed
}

// Signal reaches the child of the shell, too, which ends then and closes the pipe.
func ExampleSignal() {
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo started; wait")
	procgroup.Own(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return
	}
	r := bufio.NewReader(out)
	line, _ := r.ReadString('\n')
	fmt.Print(line)
	procgroup.Signal(cmd, syscall.SIGUSR1)
	_, err = io.Copy(io.Discard, r)
	fmt.Println("closed:", err == nil, "- ended:", cmd.Wait())
	// Output:
	// started
	// closed: true - ended: signal: user defined signal 1
}
