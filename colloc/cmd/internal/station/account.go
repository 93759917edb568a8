package station

import (
	"context"
	"errors"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/station/account"
	"example.com/colloc/colloc/station/api"
)

// account is colloc station account.
func (p *program) account(ctx context.Context, args []string) error {
	var from, until time.Time
	f := p.set()
	day := func(to *time.Time) func(string) error {
		return func(s string) (err error) {
			if *to, err = time.ParseInLocation(time.DateOnly, s, time.Local); err != nil {
				return errors.New("want a date, such as 2026-03-14")
			}
			return nil
		}
	}
	f.Func("from", "count from the beginning of `DATE`, as 2026-03-14; without it, from the beginning of the history", day(&from))
	f.Func("until", "count until the beginning of `DATE`; without it, until now", day(&until))
	if err := p.parse(f, args, "Prints what each user had in a period as CSV: jobs, for how long they held GPUs, for how\nlong they waited. A GPU counts in full for each of the jobs that share it, and of each\njob the last run.", 0, 0); err != nil {
		return err
	}
	now := p.now()
	if until.IsZero() || until.After(now) {
		until = now
	}
	if !from.Before(until) {
		return cli.Usage("-from: want a date before that of -until, and before now")
	}
	client := p.client()
	defer client.Close()
	var failed error
	rows := account.Of(func(yield func(*api.Job) bool) {
		for page, err := range client.Pages(ctx, api.Query{Ended: -1, Brief: true}) {
			failed = err
			for i := range page {
				if !yield(&page[i]) {
					return
				}
			}
		}
	}, from, until)
	if failed != nil {
		return failed
	}
	if p.asJSON {
		return p.json(rows)
	}
	return account.CSV(p.streams.Out, rows)
}
