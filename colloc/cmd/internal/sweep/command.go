package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/term"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/guest"
	"example.com/colloc/colloc/cmd/internal/joblog"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/internal/solo"
)

// Program is colloc sweep. Main has called runner.Supervise before it runs.
func Program() cli.Program {
	return cli.Program{
		Name: "sweep", Short: "Run a training program many times on the GPUs of this host",
		Run: func(_ context.Context, args []string, s cli.Streams) int {
			return run(args, s.In, s.Out, s.Err, interrupts())
		},
		Flags: new(options).flagSet, Words: map[string]func() []string{
			"share":   func() []string { return []string{"time-slicing", "mps", "exclusive"} },
			"station": stationWords,
			"halt":    func() []string { return []string{"never", "soon", "now"} },
		},
		Files: true,
	}
}

// interrupts passes signals on: what asks the sweep to end, and that its terminal is
// gone, unless it was told to ignore that. Soon after the third of those that ask, or
// at the fourth, the program ends, whatever it waits for, such as a driver that hangs.
func interrupts() <-chan os.Signal {
	const most, patience = 3, 10 * time.Second
	caught, signals := make(chan os.Signal, most+2), make(chan os.Signal, most+2)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(caught, syscall.SIGHUP)
	}
	go func() {
		for asked := 0; ; {
			s := <-caught
			select {
			case signals <- s:
			default: // nobody listens any more
			}
			if s == syscall.SIGHUP {
				continue
			}
			switch asked++; {
			case asked == most:
				time.AfterFunc(patience, func() { os.Exit(statusOf(s)) })
			case asked > most:
				os.Exit(statusOf(s))
			}
		}
	}()
	return signals
}

// run is the program but for the process around it.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, signals <-chan os.Signal) int {
	o := &options{}
	if err := o.parse(args, stdout); err != nil {
		return cli.Exit(stderr, "colloc sweep", err)
	}
	status, err := o.run(args, stdin, stdout, signals)
	if err != nil {
		fmt.Fprintln(stderr, "colloc sweep:", err)
	}
	return status
}

// run prepares the sweep; up to its start all errors are wrong usage.
func (o *options) run(args []string, stdin io.Reader, stdout io.Writer, signals <-chan os.Signal) (status int, err error) {
	jobs, err := o.grid.Of(o.command, stdin)
	if err != nil {
		return exitUsage, err
	}
	var known map[string]solo.Kind
	if o.known != "" {
		if known, err = loadKinds(o.known); err != nil {
			return exitUsage, fmt.Errorf("-known: %w", err)
		}
	}
	if o.dryRun {
		return o.planOnly(jobs, known, stdout)
	}
	made, err := o.claimFolder()
	if err != nil {
		return exitUsage, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	locked, err := o.lockFolder(ctx)
	if err != nil {
		return exitUsage, err
	}
	defer func() { err = errors.Join(err, locked.Close()) }()
	defer func() {
		if made && status == exitUsage && !exists(filepath.Join(o.logs, stationName)) {
			err = errors.Join(err, os.RemoveAll(o.logs)) // nothing came of it
		}
	}()
	if o.known == "" {
		known = earlierKinds(filepath.Join(o.logs, profileName))
	}
	s, note, err := o.place(ctx, jobs, known)
	if err != nil {
		return exitUsage, err
	}
	if s.host.Source != nil { // the GPUs are the sweep's
		defer func() { err = errors.Join(err, s.host.Source.Close()) }()
	}
	if s.log, err = joblog.Open(filepath.Join(o.logs, jobLogName)); err != nil {
		return exitUsage, err
	}
	defer func() { err = errors.Join(err, s.log.Close()) }()
	if err := s.log.Matches(jobs); err != nil {
		return exitUsage, err
	}
	if !exists(filepath.Join(o.logs, argsName)) {
		if err := o.remember(args); err != nil {
			return exitUsage, err
		}
	}
	s.show = screen.NewSwitch(o.display(stdout, screen.NewNames(s.host.Devices)))
	if note != "" {
		s.show.Note(note)
	}
	if n := s.log.Unreadable; n > 0 {
		s.show.Note(fmt.Sprintf("%s in %s cannot be read and %s left out; the queue knows the tasks", screen.Plural(n, "row"), jobLogName, map[bool]string{true: "is", false: "are"}[n == 1]))
	}
	return s.run(ctx, signals)
}

// place finds who runs the tasks: the station of this machine, or the sweep itself. note
// is what people should know of that.
func (o *options) place(ctx context.Context, jobs []grammar.Job, known map[string]solo.Kind) (s *sweep, note string, err error) {
	client, h, note, err := o.findStation(ctx)
	if err != nil {
		return nil, "", err
	}
	if client == nil {
		s, err = o.prepare(ctx, jobs, known, filepath.Join(o.logs, fakeName))
		if err != nil && note != "" {
			err = fmt.Errorf("%s: %w", note, err)
		}
		return s, note, err
	}
	at, err := stationHost(ctx, client)
	for i := 0; err == nil && i < len(jobs); i++ {
		if program := jobs[i].Command[0]; !guest.Elsewhere(program, o.grid.Shell) {
			err = guest.Found(program)
		}
	}
	if err != nil {
		client.Close()
		return nil, "", err
	}
	s = newSweep(o, jobs, newKinds(jobs, nil), at)
	s.station, s.handed = client, h
	return s, note, nil
}

// prepare finds the GPUs and the programs.
func (o *options) prepare(ctx context.Context, jobs []grammar.Job, known map[string]solo.Kind, fakes string) (*sweep, error) {
	kinds := newKinds(jobs, known)
	if o.known != "" && !slices.ContainsFunc(jobs, func(j grammar.Job) bool { return kinds[j.Kind].Profile != nil }) {
		return nil, fmt.Errorf("-known: %s knows %q, and no task here is of that kind: the first is of kind %q; rename the id, or leave -known out",
			o.known, slices.Sorted(maps.Keys(known)), jobs[0].Kind)
	}
	h, err := openHost(ctx, o, fakes)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(o.fits(h), o.find(jobs, h)); err != nil {
		return nil, errors.Join(err, h.Source.Close())
	}
	return newSweep(o, jobs, kinds, h), nil
}

func newSweep(o *options, jobs []grammar.Job, kinds map[string]solo.Kind, h *gpus.Host) *sweep {
	s := &sweep{
		o: o, jobs: jobs, byID: make(map[string]*grammar.Job, len(jobs)), host: h, kinds: kinds,
		running: make(map[string]bool),
	}
	for i := range jobs {
		s.byID[jobs[i].ID] = &jobs[i]
	}
	return s
}

// planOnly is -dry-run.
func (o *options) planOnly(jobs []grammar.Job, known map[string]solo.Kind, stdout io.Writer) (int, error) {
	fakes, err := os.MkdirTemp("", "sweep")
	if err != nil {
		return exitFailed, err
	}
	defer func() { _ = os.RemoveAll(fakes) }() // a temporary folder
	ctx := context.Background()
	s, err := o.prepare(ctx, jobs, known, fakes)
	if err != nil {
		return exitUsage, err
	}
	var out bytes.Buffer
	err = errors.Join(s.plan(ctx, &out), s.host.Source.Close())
	if err == nil {
		_, err = out.WriteTo(stdout)
	}
	if err != nil {
		return exitFailed, err
	}
	return exitOK, nil
}

// display is how the sweep is shown on stdout.
func (o *options) display(stdout io.Writer, names *screen.Names) screen.Display {
	file, isFile := stdout.(*os.File)
	switch {
	case o.asJSON:
		return screen.NewJSONLines(stdout)
	case isFile && term.IsTerminal(int(file.Fd())):
		return screen.NewTable(file, names)
	}
	return screen.NewPlain(stdout, names)
}
