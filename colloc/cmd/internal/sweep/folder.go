package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/internal/filelock"
	"example.com/colloc/internal/regular"
	"example.com/colloc/internal/replace"
	"example.com/colloc/nvmlx"
)

// invocation is how a sweep was started, for -resume.
type invocation struct {
	Dir  string   `json:"dir"`
	Args []string `json:"args"`
}

// recall fills o from the sweep in the folder that -resume names, then again
// from args, which win.
func (o *options) recall(args []string) error {
	text, err := regular.Read(filepath.Join(o.logs, argsName), regular.Large)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Usage("-resume: %s is not the folder of a sweep", o.logs)
	}
	if err != nil {
		return cli.Usage("-resume: %w", err)
	}
	var saved invocation
	if err := json.Unmarshal(text, &saved); err != nil {
		return cli.Usage("-resume: %s: %w", filepath.Join(o.logs, argsName), err)
	}
	if dir, err := os.Getwd(); err == nil && dir != saved.Dir {
		return cli.Usage("-resume: the sweep was started in %s: go there", saved.Dir)
	}
	if len(o.command) > 0 || o.grid.File != "" {
		return nil // it is all said again
	}
	*o = options{}
	f := o.flagSet()
	o.given = make(map[string]bool)
	if err := cli.Parse(f, saved.Args, io.Discard, "", ""); err != nil {
		return cli.Usage("-resume: %s: %w", filepath.Join(o.logs, argsName), err)
	}
	o.command = f.Args()
	o.given = make(map[string]bool) // lists that are given again are other lists
	if err := cli.Parse(f, args, io.Discard, "", ""); err != nil {
		return err
	}
	return o.check()
}

// lockFolder keeps other sweeps out of the folder of this one, before anything in
// it is read or written. One that was killed may hold it a moment longer, in a
// process that it was about to start. The file names who has it.
func (o *options) lockFolder(ctx context.Context) (_ *os.File, err error) {
	const tries, pause = 100, 10 * time.Millisecond
	file, err := os.OpenFile(filepath.Join(o.logs, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	waiter := nvmlx.SystemClock().NewWaiter()
	defer waiter.Stop()
	err = filelock.Take(file)
	for n := 0; errors.Is(err, filelock.ErrInUse) && n < tries; n++ {
		if waiter.Wait(ctx, time.Now().Add(pause)) != nil {
			break
		}
		err = filelock.Take(file)
	}
	if err != nil {
		text, _ := io.ReadAll(io.LimitReader(file, 64)) // empty if it is not known
		return nil, errors.Join(fmt.Errorf("-logs %s: %w by another sweep (process %s): colloc sweep -logs %[1]s -resume goes on with it once that has ended",
			grammar.QuoteWord(o.logs), err, cmp.Or(strings.TrimSpace(string(text)), "not known")), file.Close())
	}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if _, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// claimFolder makes the folder of the sweep, or checks that it is the one of the
// sweep to resume.
func (o *options) claimFolder() (made bool, err error) {
	if o.logs == "" {
		for n := 1; ; n++ {
			o.logs = fmt.Sprintf("sweep-%d", n)
			if err := os.Mkdir(o.logs, 0o700); !errors.Is(err, fs.ErrExist) {
				return true, err
			}
		}
	}
	_, err = os.Stat(filepath.Join(o.logs, jobLogName))
	switch resume := o.resume || o.resumeFailed; {
	case err == nil && !resume:
		return false, fmt.Errorf("-logs %s: there is a sweep already: -resume goes on with it, or choose another folder", o.logs)
	case errors.Is(err, fs.ErrNotExist) && resume:
		return false, fmt.Errorf("-resume: %s has no %s: it is not the folder of a sweep", o.logs, jobLogName)
	case err == nil:
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		made = !exists(o.logs)
		err = os.MkdirAll(o.logs, 0o700)
	}
	if err != nil {
		return false, fmt.Errorf("-logs %s: %w", o.logs, errors.Unwrap(err))
	}
	return made, nil
}

// remember writes how the sweep was started.
func (o *options) remember(args []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(invocation{Dir: dir, Args: args}, "", "  ")
	if err != nil {
		return err
	}
	return replace.Text(filepath.Join(o.logs, argsName), append(text, '\n'))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
