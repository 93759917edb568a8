package testbed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	variable     = "COLLOC_TESTBED" // of all that a test binary starts: its process and a time
	watcherName  = "colloc-testbed"
	raceVariable = "GORACE" // options of the race detector
	maxScans     = 64       // what starts processes faster than they are killed gets away
)

// Prepare does three things for a test binary. The processes that it starts do not
// ignore SIGINT, SIGHUP and SIGQUIT, even if its caller does, as nohup and the jobs
// of a script do. And they end with it, however it ends: a second process waits for
// that and then kills all that still have a variable of the environment from here.
// With the race detector a program takes a second to end; those that a test binary
// starts do not.
// In processes that a test binary starts Prepare does nothing.
func Prepare() {
	if os.Args[0] == watcherName {
		watch(os.Args[1])
		syscall.Exit(0)
	}
	if os.Getenv(variable) != "" || !strings.HasSuffix(os.Args[0], ".test") {
		return
	}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // who starts a program hands on what is ignored, not what is caught
		}
	}
	if os.Getenv(raceVariable) == "" {
		_ = os.Setenv(raceVariable, "atexit_sleep_ms=0") // else they are slower, no more
	}
	if err := startWatcher(); err != nil {
		fmt.Fprintln(os.Stderr, "testbed: processes of aborted tests will live on:", err)
	}
}

// startWatcher starts the process that waits for the end of this one: then nobody
// holds the other end of its standard input.
func startWatcher() error {
	var pipe [2]int // bare, for no collection closes them
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	info, err := os.Stat("/proc/self")
	if err != nil {
		return err
	}
	token := strconv.Itoa(os.Getpid()) + "." + strconv.FormatInt(info.ModTime().UnixNano(), 10)
	if err := os.Setenv(variable, token); err != nil {
		return err
	}
	end := os.NewFile(uintptr(pipe[0]), "end")
	watcher, err := os.StartProcess("/proc/self/exe", []string{watcherName, token}, &os.ProcAttr{
		Env: []string{}, Files: []*os.File{end}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return errors.Join(err, end.Close())
	}
	return errors.Join(end.Close(), watcher.Release())
}

// watch waits for the end of standard input and kills what has the token.
func watch(token string) {
	_, _ = io.Copy(io.Discard, os.Stdin)
	for range maxScans {
		if !killAll([]byte(variable + "=" + token + "\x00")) {
			return
		}
	}
}

// killAll kills the processes whose environment has a variable; false if there are
// none.
func killAll(v []byte) bool {
	found := false
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		env, err := os.ReadFile(name) // it may be gone, or another user's
		if err != nil || !bytes.Contains(append([]byte{0}, env...), append([]byte{0}, v...)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
		}
	}
	return found
}
