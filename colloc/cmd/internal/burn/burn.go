package burn

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/profile"
)

// burner is what the hidden command burn does: it plays a training program on
// a fake GPU, so that all of the sweep but the GPU is real. Each step uses the
// CPU, then the fake GPU, which it shares with the other burners there as
// time-slicing would: one at a time.
type burner struct {
	steps, epochs  int           // steps of an epoch
	cpu, wait, gpu time.Duration // of one step
	mem, more      profile.Bytes // held from the start; held from half time on
	sm             float64       // share of the SMs that its kernels fill
	failAt         int           // the step at which to end with exit
	exit           int
	once           string // a file that, once it is there, keeps the burner from failing
	oomAt          int    // the step at which to report out of memory
	until          string // a file that is awaited after the last step
	quiet          bool   // print no steps
}

// Program is colloc burn, which stands for the command burn where GPUs are fake.
func Program() cli.Program {
	return cli.Program{
		Name: "burn", Short: "Play a training program on a fake GPU", Hidden: true,
		Run:   func(_ context.Context, args []string, s cli.Streams) int { return run(args, s.Out, s.Err) },
		Flags: new(burner).flags,
	}
}

// flags returns the flags, which fill b.
func (b *burner) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("burn", flag.ContinueOnError)
	flags.IntVar(&b.steps, "steps", 50, "train for `N` steps")
	flags.IntVar(&b.epochs, "epochs", 1, "train for `N` epochs, each of -steps, which are counted anew")
	flags.DurationVar(&b.cpu, "cpu", 200*time.Microsecond, "use the CPU for `TIME` a step")
	flags.DurationVar(&b.wait, "wait", 5*time.Millisecond, "wait for data for `TIME` a step")
	flags.DurationVar(&b.gpu, "gpu", 2*time.Millisecond, "use the fake GPU for `TIME` a step")
	cli.Bytes(flags, &b.mem, "mem", "hold `BYTES` of GPU memory")
	cli.Bytes(flags, &b.more, "grow", "hold `BYTES` of GPU memory in the second half of the steps")
	flags.Float64Var(&b.sm, "sm", 0.5, "fill this `SHARE` of the SMs while on the GPU")
	flags.IntVar(&b.failAt, "fail-at", 0, "fail at step `N`")
	flags.IntVar(&b.exit, "exit", 1, "the exit `STATUS` of -fail-at")
	flags.StringVar(&b.once, "once", "", "fail only if `FILE` is not there, and make it")
	flags.IntVar(&b.oomAt, "oom-at", 0, "run out of memory at step `N`")
	flags.StringVar(&b.until, "until", "", "after the last step wait for `FILE`")
	flags.BoolVar(&b.quiet, "quiet", false, "print no steps")
	flags.String("seed", "", "is there to be different")
	flags.String("lr", "", "is there to be different")
	return flags
}

// run runs the command and returns its exit status.
func run(args []string, stdout, stderr io.Writer) int {
	b := burner{}
	flags := b.flags()
	err := cli.Parse(flags, args, stdout, "Burn plays a training program on a fake GPU of colloc sweep -fake-gpus FILE.\n\nusage: colloc burn [flags]\n\n", "")
	if err == nil && flags.NArg() > 0 {
		err = cli.Usage("%q: no argument is expected; see -h", flags.Arg(0))
	}
	if err != nil {
		return cli.Exit(stderr, "colloc burn", err)
	}
	if _, err := os.Stat(b.once); b.once != "" && err == nil {
		b.failAt, b.oomAt = 0, 0
	}
	gpu, err := attach(os.Getenv(fakeDirEnv), os.Getenv("CUDA_VISIBLE_DEVICES"))
	if err == nil {
		err = errors.Join(b.train(gpu, stdout), gpu.close())
	}
	var failure exitError
	switch {
	case errors.As(err, &failure):
		fmt.Fprintln(stderr, "RuntimeError: failed as told")
		return int(failure)
	case err != nil:
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// exitError is the status that a burner was told to end with.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// train plays the training.
func (b *burner) train(gpu *fakeCards, stdout io.Writer) error {
	if err := gpu.hold(b.mem); err != nil {
		return err
	}
	all := b.steps * max(1, b.epochs)
	for step := 1; step <= all; step++ {
		if b.more > 0 && step == all/2+1 {
			if err := gpu.hold(b.more); err != nil {
				return err
			}
		}
		spin(b.cpu)
		time.Sleep(b.wait)
		if err := gpu.compute(b.gpu, b.sm); err != nil {
			return err
		}
		if !b.quiet {
			fmt.Fprintf(stdout, "step %d/%d loss=%.4f\n", (step-1)%b.steps+1, b.steps, 1/float64(step))
		}
		if step != b.failAt && step != b.oomAt {
			continue
		}
		if b.once != "" {
			if err := os.WriteFile(b.once, nil, 0o600); err != nil {
				return err
			}
		}
		if step == b.oomAt {
			return fmt.Errorf("torch.OutOfMemoryError: %w (as told)", fakegpu.ErrOutOfMemory)
		}
		return exitError(b.exit)
	}
	for b.until != "" {
		if _, err := os.Stat(b.until); err == nil {
			break
		}
		time.Sleep(b.wait)
	}
	return nil
}
