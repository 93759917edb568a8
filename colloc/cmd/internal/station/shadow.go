package station

import (
	"context"
	"errors"
	"flag"
	"os"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/cmd/internal/shadow"
)

const aboutShadow = `Shadow looks on while people run what they like from their shells: each round it
reads the GPUs and who uses them. It needs no station. ` + shadow.About + `

Of a process its user, the name of its program or script, its memory and how busy it keeps the GPU are
kept, not its command line. Nobody sees who waits for a GPU in a chat: the report counts GPU
hours. As root it sees the processes of all users, as the driver allows.`

// shadow looks on and changes nothing.
func (p *program) shadow(ctx context.Context, args []string) (err error) {
	f := flag.NewFlagSet(p.command.name, flag.ContinueOnError)
	var o shadow.Options
	o.Flags(f, "shadow.jsonl")
	fake := f.String("fake-gpus", "", "pretend to have the GPUs in `FILE`, or a list such as 2xA100-40GB")
	if err := p.parse(f, args, aboutShadow, 0, 0); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return cli.Usage("%w", err)
	}
	if o.Report {
		return o.Run(ctx, nil, p.streams)
	}
	dir := ""
	if *fake != "" {
		if dir, err = os.MkdirTemp("", "colloc-shadow"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	host, err := gpus.Open(ctx, *fake, dir)
	if err != nil {
		return cli.Usage("%w", err)
	}
	defer func() { err = errors.Join(err, host.Source.Close()) }()
	look := shadow.Host{Source: host.Source, Devices: host.Devices, Now: p.now}
	return o.Run(ctx, look.Look, p.streams)
}
