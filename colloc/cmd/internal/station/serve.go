package station

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/station"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/notify"
	"example.com/colloc/internal/regular"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// serving are the flags of serve.
type serving struct {
	dir        string
	fake       string
	me         bool
	gpus       []nvmlx.DeviceID
	mechanisms []profile.Mechanism
	config     station.Config
	web        web
	notify     string   // command
	webhook    string   // address
	notes      []string // what whoever starts it should know
}

// serve is colloc station serve.
func (p *program) serve(ctx context.Context, args []string) error {
	var o serving
	f := p.set()
	f.StringVar(&o.dir, "dir", defaultDir(), "keep queue, logs and what was learned in `DIR`")
	f.StringVar(&o.fake, "fake-gpus", "", "pretend to have the GPUs in `FILE`, or a list such as 2xA100-40GB; the command burn then plays a training")
	gpus.Flags(f, &o.gpus, &o.mechanisms, nil)
	f.Lookup("share").Usage += "; for mps the station keeps a daemon for each GPU"
	f.BoolVar(&o.me, "me", os.Geteuid() != 0, "take jobs of this user alone; without it, as root, those of all users, which then run as them")
	f.IntVar(&o.config.PerGPU, "per-gpu", colloc.DefaultMaxSet, "at most `N` jobs on a GPU")
	f.IntVar(&o.config.MaxQueued, "max-queued", station.DefaultMaxQueued, "one user may have `N` jobs in the queue")
	f.IntVar(&o.config.MaxGPUs, "max-gpus", 0, "one user may have `N` GPUs at once, a shared one counted for each job on it; 0 is any number")
	f.DurationVar(&o.config.HalfLife, "half-life", station.DefaultHalfLife, "GPU time that a user had counts half after `TIME`")
	f.Func("weight", "`USER=W`: W times as much is due to the user as to others", o.weigh)
	f.DurationVar(&o.config.Profiling, "profile", station.DefaultProfiling, "watch the first job of a program that nobody knows alone for `TIME`, from its first step on")
	f.BoolVar(&o.config.Sync, "sync", true, "what was submitted survives the loss of power")
	f.DurationVar(&o.config.Watch, "watch", time.Second, "look at GPUs and jobs every `TIME`")
	f.DurationVar(&o.config.Grace, "grace", 10*time.Second, "kill what is to end `TIME` after it was asked to")
	o.limits(f)
	o.web.flag(f)
	f.StringVar(&o.notify, "notify", "", "run `COMMAND` for each job that ends and each GPU that is lost: it gets the message as JSON on its standard input")
	f.StringVar(&o.webhook, "webhook", "", "post the same message to `URL`, or to the one in a file of that name: all users see what a program was called with")
	f.BoolVar(&o.config.Decide, "decide", false, "answer fit, best, plan and observe for other schedulers, on the socket and, but for observe, at the address of -http")
	f.Func("gone", "what ran on the host `NAME`, which shared the folder, is lost: the host is gone for good", func(s string) error {
		o.config.Gone = append(o.config.Gone, s)
		return nil
	})
	if err := p.parse(f, args, "Takes jobs and starts them until it is ended with Ctrl-C or SIGTERM. Jobs that run\nthen go on, and the next serve takes them over.", 0, 0); err != nil {
		return err
	}
	if !o.me && os.Geteuid() != 0 {
		return cli.Usage("-me=false: only root may run jobs as other users")
	}
	if o.config.PerGPU < 1 || o.config.MaxQueued < 1 {
		return cli.Usage("-per-gpu and -max-queued: want 1 or more")
	}
	if p.socket == "" {
		p.socket = api.OwnSocket()
	}
	defer lean()()
	return p.host(ctx, &o)
}

// longestAddress is how many bytes a file with the address of a webhook has.
const longestAddress = 1 << 12

// notifier lets the station tell of jobs what -notify and -webhook ask for, until it is
// stopped.
func (o *serving) notifier(c *station.Config, out io.Writer) (stop func(), err error) {
	var sends []notify.Send
	if words := strings.Fields(o.notify); len(words) > 0 {
		send, err := notify.Command(words...)
		if err != nil {
			return nil, fmt.Errorf("-notify: %w", err)
		}
		sends = append(sends, send)
	}
	if address := o.webhook; address != "" {
		if !strings.Contains(address, "://") {
			text, err := regular.Read(address, longestAddress)
			if err != nil {
				return nil, fmt.Errorf("-webhook: want https://HOST/PATH, or a file with it: %w", err)
			}
			address = strings.TrimSpace(string(text))
		}
		send, err := notify.Webhook(address)
		if err != nil {
			return nil, fmt.Errorf("-webhook: %w", err)
		}
		sends = append(sends, send)
	}
	if len(sends) == 0 {
		return func() {}, nil
	}
	var all []*notify.Notifier // a webhook that hangs does not hold up the command
	for _, send := range sends {
		all = append(all, notify.New(send, func(err error) { fmt.Fprintf(out, "colloc station: %v\n", err) }))
	}
	c.Notify = func(m notify.Message) {
		for _, n := range all {
			n.Tell(m)
		}
	}
	return func() {
		const patience = 5 * time.Second
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		for _, n := range all {
			n.Close(ctx)
		}
	}, nil
}

// weigh reads USER=W.
func (o *serving) weigh(text string) error {
	name, weight, ok := strings.Cut(text, "=")
	w, err := strconv.ParseFloat(weight, 64)
	if !ok || err != nil || !(w > 0) || math.IsInf(w, 0) {
		return fmt.Errorf("%q: want USER=W, with W above 0", text)
	}
	uid, known := o.userNumber("-weight", name)
	if !known {
		return nil
	}
	if o.config.Weights == nil {
		o.config.Weights = make(map[uint32]float64)
	}
	o.config.Weights[uid] = w
	return nil
}

// version is what this program was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

// defaultDir is where a station keeps what it knows.
func defaultDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/colloc/station"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "colloc", "station")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "colloc-station"
	}
	return filepath.Join(home, ".local", "state", "colloc", "station")
}

// tell says what whoever starts the station should know, and lets all users have GPUs that
// are files, if they may use the station.
func (o *serving) tell(to io.Writer, found *gpus.Host) error {
	for _, note := range o.notes {
		fmt.Fprintln(to, "colloc station:", note)
	}
	if o.me {
		return nil
	}
	return found.Share()
}

// noteOther notes that the station of the machine, if it answers, has GPUs that this one is
// to have; no IDs are all.
func (o *serving) noteOther(ctx context.Context, socket string, ids []nvmlx.DeviceID) {
	const patience = 5 * time.Second
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	client := api.NewClient(socket)
	defer client.Close()
	s, err := client.State(ctx)
	if err == nil && slices.ContainsFunc(s.GPUs, func(g api.GPU) bool { return len(ids) == 0 || slices.Contains(ids, g.ID) }) {
		o.notes = append(o.notes, "the station of this machine manages these GPUs already, and neither knows of the other's jobs: end this one, and submit with -socket "+socket)
	}
}

// settings are those of a station on GPUs that were found.
func (o *serving) settings(found *gpus.Host) (c station.Config, err error) {
	c = o.config
	c.Dir, c.Source, c.Mechanisms, c.Version = o.dir, found.Source, o.mechanisms, version()
	c.Everybody = !o.me
	c.Env, c.Rewrite = found.Extra, found.Command
	c.GPUs, err = found.Choose("-gpus", o.gpus)
	return c, err
}

// spare is how far the heap of the daemon grows between two collections, in percent, unless GOGC says: a daemon is to be
// small beside what it runs, and is idle as a rule.
const spare = 15

// lean keeps the heap small until it is undone.
func lean() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(spare)
	return func() { debug.SetGCPercent(before) }
}

// host finds the GPUs and runs the station on them.
func (p *program) host(ctx context.Context, o *serving) (err error) {
	mode := fs.FileMode(0o700)
	if !o.me {
		mode = 0o711 // users pass through to their outputs
	}
	if err := os.MkdirAll(o.dir, mode); err != nil {
		return err
	}
	found, err := gpus.Open(ctx, o.fake, filepath.Join(o.dir, "fake"))
	if err != nil {
		return cli.Usage("%w", err)
	}
	defer func() { err = errors.Join(err, found.Source.Close()) }()
	c, err := o.settings(found)
	if err != nil {
		return cli.Usage("%w", err)
	}
	if o.me && o.fake == "" && p.socket != api.SystemSocket {
		o.noteOther(ctx, api.SystemSocket, c.GPUs)
	}
	o.background(ctx, found, &c)
	if err := o.tell(p.streams.Err, found); err != nil {
		return err
	}
	quiet, err := o.notifier(&c, p.streams.Err)
	if err != nil {
		return cli.Usage("%w", err)
	}
	defer quiet()
	s, err := station.New(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	stopWeb, err := o.web.open(p.socket, s.Decider(), p.streams.Out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopWeb()) }()
	l, err := station.Listen(p.socket, !o.me)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.streams.Out, "colloc station: %d GPUs, listening on %s\n", len(found.Devices), p.socket)
	serving, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		err := s.Serve(serving, l)
		stop()
		served <- err
	}()
	err = s.Run(serving)
	stop()
	err = errors.Join(err, <-served)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(p.streams.Out, "colloc station: ends; jobs go on, and the next serve takes them over")
		return nil
	}
	return err
}
