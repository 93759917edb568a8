package slurm

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"example.com/colloc/colloc/slurm"
)

// reach is how to reach slurmrestd, for those who do not go by Slurm's commands.
type reach struct{ address, version string }

func reachFlags(f *flag.FlagSet) *reach {
	r := &reach{}
	f.StringVar(&r.address, "rest", "", "ask slurmrestd at `ADDRESS`, unix:/path or https://host:6820, in place of the commands that it stands for")
	f.StringVar(&r.version, "rest-version", "", "`VERSION` of its interface, such as v0.0.40; default v0.0.38")
	return r
}

// through makes the program ask slurmrestd, if that is wanted.
func (p *program) through(r *reach) error {
	if r.address == "" {
		return nil
	}
	rest := &slurm.REST{Address: r.address, Version: r.version}
	if !strings.HasPrefix(r.address, "unix:") { // there the daemon knows who asks
		me, err := user.Current()
		if err != nil {
			return fmt.Errorf("who asks slurmrestd: %w", err)
		}
		rest.User, rest.Tokens = me.Username, p.tokens()
	}
	p.client = p.client.Through(rest)
	return nil
}

// tokens gives SLURM_JWT as long as it holds, and then what "scontrol token" gives.
func (p *program) tokens() func(context.Context, slurm.Token) (slurm.Token, error) {
	const lifespan = 30 * time.Minute // Slurm's own
	given := slurm.Token(os.Getenv("SLURM_JWT"))
	fresh := slurm.FreshTokens(p.runner, lifespan)
	return func(ctx context.Context, refused slurm.Token) (slurm.Token, error) {
		if end, says := given.Expires(); given == "" || given == refused || says && !p.now().Before(end) {
			given = ""
			token, err := fresh(ctx, refused)
			if err != nil {
				return "", fmt.Errorf("a token for slurmrestd: %w; put one into SLURM_JWT", err)
			}
			return token, nil
		}
		return given, nil
	}
}
