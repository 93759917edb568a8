package testbed

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// abortedVariable makes the test binary one that starts processes and is killed.
const abortedVariable = "TESTBED_ABORTED"

func TestMain(m *testing.M) {
	Prepare()
	if os.Getenv(abortedVariable) != "" {
		if err := leave(); err != nil {
			fmt.Println(err)
		}
		return
	}
	m.Run()
}

// leave starts two processes, one in a session of its own, which say who they are
// and whether they ignore signals, and waits for them.
func leave() error {
	const say = `echo $$ $(grep SigIgn /proc/$$/status)`
	cmd := exec.Command("sh", "-c", say+`; exec setsid sh -c '`+say+`; exec sleep 1000'`)
	cmd.Stdout = os.Stdout
	return cmd.Run()
}

// A test binary that is killed takes along what it started, and lets that have
// signals which its own caller ignores.
func TestPrepare(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `trap "" INT HUP QUIT; exec "$0"`, self)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, variable+"=") }), abortedVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, pid := bufio.NewScanner(out), ""
	for range 2 {
		if !lines.Scan() {
			t.Fatal("the binary that will be aborted does not begin")
		}
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || !strings.ContainsRune("08", rune(fields[2][len(fields[2])-1])) { // signals 1, 2 and 3 are its last bits
			t.Fatalf("%q: want a process that ignores neither SIGHUP nor SIGINT nor SIGQUIT", lines.Text())
		}
		pid = fields[0]
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); alive(pid); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("process %s lives on", pid)
		}
	}
	_ = cmd.Wait()
}

// alive reports whether there is a process that has not ended, whoever has to reap it.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestAlone: a test is run in another process, and fails as it does there.
func TestAlone(t *testing.T) {
	const mark = "TESTBED_ALONE_FAILS"
	if Alone(t) {
		if os.Getenv(mark) != "" {
			t.Errorf("process %d fails", os.Getpid())
		}
		return
	}
	if os.Getenv(mark) != "" {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestAlone$")
	cmd.Env = append(os.Environ(), mark+"=1")
	out, err := cmd.CombinedOutput()
	own := fmt.Sprintf("process %d fails", cmd.Process.Pid)
	if err == nil || !strings.Contains(string(out), " fails") || strings.Contains(string(out), own) {
		t.Errorf("a test that fails elsewhere: %v\n%s", err, out)
	}
}
