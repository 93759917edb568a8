package decide

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/decide"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/station"
	"example.com/colloc/internal/plain"
	"example.com/colloc/internal/regular"
	"example.com/colloc/internal/replace"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Program is colloc decide.
func Program() cli.Program {
	return cli.Program{
		Name: "decide", Short: "Decide for a scheduler in another language, over HTTP",
		Run: func(ctx context.Context, args []string, s cli.Streams) int {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, args, s)
		},
		Flags: new(options).flags,
	}
}

// options are the command line.
type options struct {
	socket, address, token string
	state, learned         string
	perGPU                 int
	headroom               float64
	dispatch               dispatch.Options
}

const help = `Decide serves the HTTP API for schedulers in other languages, until it is ended with
Ctrl-C or SIGTERM: does a task fit beside those, which GPU is best, how should these tasks
share those GPUs, and a session that is told what happens and says what to start and stop.

usage: colloc decide [flags]

  colloc decide -socket s                              for programs of this user
  colloc decide -http :9401 -token FILE                for all of this machine who know the token

See docs/howto/http.md; examples/decide has a client and a scheduler in Python.

`

func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("decide", flag.ContinueOnError)
	f.StringVar(&o.socket, "socket", "", "listen on the unix socket `FILE`, for this user alone; colloc-decide.sock in this folder without -http")
	f.StringVar(&o.address, "http", "", "listen on `[HOST]:PORT`, a loopback address, for who sends the token")
	f.StringVar(&o.token, "token", "", "with -http: the token is in `FILE`, which is made if it is not there; requests say Authorization: Bearer TOKEN")
	f.StringVar(&o.state, "state", "", "keep the session in `FILE` before each answer, and go on with it after a restart")
	f.StringVar(&o.learned, "learned", "", "go on with what was learned, in `FILE`, and keep there what is observed")
	f.IntVar(&o.perGPU, "per-gpu", colloc.DefaultMaxSet, "at most `N` tasks on a GPU")
	f.Float64Var(&o.headroom, "headroom", packer.DefaultHeadroom, "the `SHARE` of a GPU's memory that stays free")
	f.DurationVar(&o.dispatch.HalfLife, "half-life", 0, "GPU time that a user had counts half after `TIME` when it is said whose turn is next; 0 goes by the order in which jobs came")
	f.DurationVar(&o.dispatch.Window, "window", 0, "quotas of users are for GPU time in each `TIME` (default 168h)")
	return f
}

func run(ctx context.Context, args []string, s cli.Streams) int {
	o := &options{}
	f := o.flags()
	err := cli.Parse(f, args, s.Out, help, "\nexit status: 0, 2 for wrong input, 1 for anything else that fails\n")
	if err == nil {
		err = o.check(f.Args())
	}
	if err == nil {
		err = o.serve(ctx, s)
	}
	return cli.Exit(s.Err, "colloc decide", err)
}

func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return cli.Usage("%q: it takes no operands", rest[0])
	case o.perGPU < 1 || o.perGPU > colloc.LargestSet:
		return cli.Usage("-per-gpu %d: want 1 to %d", o.perGPU, colloc.LargestSet)
	case !(o.headroom >= 0 && o.headroom < 1):
		return cli.Usage("-headroom %v: want 0 or more and below 1", o.headroom)
	case (o.address == "") != (o.token == ""):
		return cli.Usage("-http and -token go together: who does not know the token must not decide")
	case o.address == "" && o.socket == "":
		o.socket = "colloc-decide.sock"
	}
	return nil
}

// serve answers until ctx is done.
func (o *options) serve(ctx context.Context, s cli.Streams) (err error) {
	planner, err := o.planner()
	if err != nil {
		return err
	}
	d, err := o.dispatcher(planner)
	if err != nil {
		return err
	}
	var lessons atomic.Int64
	c := decide.Config{Planner: planner, Dispatcher: d, MayTeach: func(*http.Request) error { lessons.Add(1); return nil }}
	c.Now = func() time.Duration { return time.Duration(time.Now().UnixNano()) }
	if o.state != "" {
		c.Save = func(state []byte) error { return replace.Text(o.state, state) }
	}
	h, err := decide.Handler(c)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	servers, err := o.listen(h, stop, s)
	for _, end := range servers {
		defer func() { err = errors.Join(err, end()) }()
	}
	if err != nil {
		return err
	}
	return o.keep(ctx, planner, &lessons)
}

// planner is one that goes on with what was learned.
func (o *options) planner() (*colloc.Planner, error) {
	config := colloc.Config{MaxSet: o.perGPU, Headroom: profile.Some(o.headroom)}
	if o.learned == "" {
		return colloc.New(config)
	}
	file, err := regular.Found(o.learned)
	if errors.Is(err, fs.ErrNotExist) {
		return colloc.New(config)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	p, err := colloc.Load(file, config)
	if err != nil {
		err = cli.Usage("-learned %s: %w", o.learned, err)
	}
	return p, err
}

// dispatcher is one that goes on where it stood.
func (o *options) dispatcher(p *colloc.Planner) (*dispatch.Dispatcher, error) {
	if o.state == "" {
		return dispatch.New(p, &o.dispatch)
	}
	state, err := regular.Read(o.state, regular.Large)
	if errors.Is(err, fs.ErrNotExist) {
		return dispatch.New(p, &o.dispatch)
	}
	if err != nil {
		return nil, err
	}
	d, err := dispatch.Restore(p, &o.dispatch, state)
	if err != nil {
		err = cli.Usage("-state %s: %w; put it aside, and tell the session everything anew", o.state, err)
	}
	return d, err
}

// listen begins to answer, until each of what it returns is called. stop is called when one ends by itself, too.
func (o *options) listen(h http.Handler, stop func(), s cli.Streams) (servers []func() error, err error) {
	if o.socket != "" {
		l, err := station.Listen(o.socket, false)
		if err != nil {
			return servers, err
		}
		servers = append(servers, cli.Serve(l, h, nil, stop))
		fmt.Fprintf(s.Out, "colloc decide: listening on %s\n", plain.Text(o.socket))
	}
	if o.address == "" {
		return servers, nil
	}
	token, err := readToken(o.token)
	if err != nil {
		return servers, err
	}
	l, usage, err := cli.Loopback("http", o.address)
	if usage != nil {
		err = cli.Usage("%w", usage)
	}
	if err != nil {
		return servers, err
	}
	servers = append(servers, cli.Serve(l, cli.OwnName(guarded(token, h)), nil, stop))
	fmt.Fprintf(s.Out, "colloc decide: http://%s with the token in %s\n", l.Addr(), plain.Text(o.token))
	return servers, nil
}

// saveEvery is how often what was learned is kept.
const saveEvery = 5 * time.Minute

// keep keeps what was learned now and then, and when ctx is done.
func (o *options) keep(ctx context.Context, p *colloc.Planner, lessons *atomic.Int64) error {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for kept := int64(0); ; {
		over := false
		select {
		case <-ctx.Done():
			over = true
		case <-tick.C:
		}
		if n := lessons.Load(); o.learned != "" && n != kept {
			if err := replace.File(o.learned, func(f *os.File) error { return errors.Join(p.Save(f), f.Sync()) }); err != nil {
				return fmt.Errorf("what was learned is not kept in %s: %w", filepath.Base(o.learned), err)
			}
			kept = n
		}
		if over {
			return nil
		}
	}
}
