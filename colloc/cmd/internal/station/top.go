package station

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/internal/plain"
)

// status is colloc station status.
func (p *program) status(ctx context.Context, args []string) error {
	f := p.set()
	if err := p.parse(f, args, "Shows GPUs with the jobs on them, users, and the queue.", 0, 0); err != nil {
		return err
	}
	return p.once(ctx)
}

// once prints the station as it is.
func (p *program) once(ctx context.Context) error {
	client := p.client()
	defer client.Close()
	s, err := client.State(ctx)
	if err != nil {
		return err
	}
	if p.asJSON {
		return p.json(s)
	}
	return printState(p.streams.Out, &s)
}

// top is colloc station top.
func (p *program) top(ctx context.Context, args []string) error {
	var every time.Duration
	f := p.set()
	f.DurationVar(&every, "every", 2*time.Second, "look again every `TIME`")
	if err := p.parse(f, args, "Shows GPUs with the jobs on them, users, and the queue, until Ctrl-C. When it is not\nprinted to a terminal: once.", 0, 0); err != nil {
		return err
	}
	if every < 100*time.Millisecond {
		return cli.Usage("-every %v: want 100ms or more", every)
	}
	file, ok := p.streams.Out.(*os.File)
	if p.asJSON || !ok || !term.IsTerminal(int(file.Fd())) {
		return p.once(ctx)
	}
	client := p.client()
	defer client.Close()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		s, err := client.State(ctx)
		if err != nil {
			return err
		}
		width, height, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := printState(&b, &s); err != nil {
			return err
		}
		if _, err := file.WriteString(frame(b.String(), width, height)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// frame is a text as a screen: from the upper left, cut to its size, with nothing left of
// what was there.
func frame(text string, width, height int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > height && height > 0 {
		lines = lines[:height]
	}
	for i, line := range lines {
		if runes := []rune(line); len(runes) > width && width > 0 {
			lines[i] = string(runes[:width])
		}
	}
	const home, clearLine, clearBelow = "\x1b[H", "\x1b[K", "\x1b[J"
	return home + strings.Join(lines, clearLine+"\r\n") + clearLine + clearBelow
}

// printState prints the station as plain text.
func printState(w io.Writer, s *api.State) error {
	fmt.Fprintf(w, "colloc station %s, up %v: %d running, %d waiting", s.Version, screen.Rounded(s.At.Sub(s.Since)), s.Count.Running, s.Count.Queued)
	if s.Draining {
		fmt.Fprint(w, ", draining")
	}
	fmt.Fprint(w, "\n\n")
	t := tabwriter.NewWriter(w, 0, 1, 2, ' ', 0)
	fmt.Fprintln(t, "GPU\tNAME\tUSED\tRESERVED\tBUSY\tJOBS\t")
	for i := range s.GPUs {
		g := &s.GPUs[i]
		used, busy := "-", "-"
		if v, ok := g.Used.Get(); ok {
			used = v.String()
		}
		if v, ok := g.Busy.Get(); ok {
			busy = screen.Percent(v)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", g.Index, g.Name, used, g.Reserved.String()+"/"+g.Usable.String(), busy,
			cmp.Or(strings.Join(g.Jobs, " + "), "-"), conditionOf(g))
	}
	if len(s.Users) > 0 {
		fmt.Fprintln(t, "\nUSER\tRUNNING\tWAITING\tSHARE\tHAD\tGPU TIME")
		for i := range s.Users {
			u := &s.Users[i]
			fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%v\n", u.Name, u.Running, u.Queued, screen.Percent(u.Share), screen.Percent(u.Had), screen.Rounded(time.Duration(u.GPUSeconds*float64(time.Second))))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(s.Active)+len(s.Queue) > 0 {
		fmt.Fprintln(w)
		if err := printJobs(w, slices.Concat(s.Active, s.Queue), s.At); err != nil {
			return err
		}
	}
	if text := next(s); text != "" {
		fmt.Fprintf(w, "\nnext: %s\n", text)
	}
	if more := s.Count.Queued - len(s.Queue); more > 0 {
		fmt.Fprintf(w, "and %d more that wait\n", more)
	}
	for _, warning := range s.Warnings[max(0, len(s.Warnings)-3):] {
		fmt.Fprintf(w, "\n%s  %s\n", warning.At.Local().Format(time.TimeOnly), plain.Text(warning.Text))
	}
	return nil
}

// next says what the next decisions are, as far as that is known: which of the jobs that wait start first, and when.
func next(s *api.State) string {
	var soon []*api.Job
	for i := range s.Queue {
		if !s.Queue[i].Starts.IsZero() {
			soon = append(soon, &s.Queue[i])
		}
	}
	slices.SortStableFunc(soon, func(a, b *api.Job) int { return a.Starts.Or(s.At).Compare(b.Starts.Or(s.At)) })
	const most = 3
	var texts []string
	for _, j := range soon[:min(most, len(soon))] {
		texts = append(texts, fmt.Sprintf("job %s of %s %s", j.ID, j.User, expected(j, s.At)))
	}
	return strings.Join(texts, "; ")
}

// conditionOf says what keeps jobs from a GPU.
func conditionOf(g *api.GPU) string {
	switch {
	case g.Lost:
		return "does not answer"
	case g.Drained:
		return "drained"
	case g.For != "":
		return fmt.Sprintf("for %s until %s", g.For, g.Until.Local().Format("2006-01-02 15:04"))
	}
	return ""
}
