// Customscheduler is a small scheduler that embeds colloc: tenants who share with
// nobody else, gangs, nodes that are lost, restarts, and learning. Tasks run in virtual
// time, so that it needs no GPU; replace the fleet by whatever starts processes, and
// scheduler.go stays as it is.
//
//	go run ./examples/customscheduler
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/harness"
	"example.com/colloc/profile"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "customscheduler:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	dir, err := os.MkdirTemp("", "customscheduler")
	if err != nil {
		return err
	}
	return errors.Join(day(w, dir), os.RemoveAll(dir))
}

// day is one of eleven tasks on two nodes of two GPUs.
func day(w io.Writer, dir string) error {
	cards, err := harness.Cards("2x2xRTX3090")
	if err != nil {
		return err
	}
	fleet, err := harness.New(harness.Config{GPUs: cards})
	if err != nil {
		return err
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(w, fleet.Now().Format("15:04 ")+format+"\n", args...)
	}
	start := func(t colloc.Task, gpus []string) error {
		say("%s starts on %v", t.ID, gpus)
		peak, _ := t.Profile.Vector.Get(profile.PeakMemory)
		return fleet.Start(t, sim.Task{Work: time.Hour, Memory: profile.Bytes(peak)}, gpus...)
	}
	ctx := context.Background()
	s, err := open(dir, fleet.GPUs(), fleet.Now, start)
	if err != nil {
		return err
	}
	for i := range 11 {
		if err := s.submit(ctx, request(fmt.Sprintf("task%02d", i), []string{"red", "blue"}[i%2], i%3, 1+i/10)); err != nil {
			return err
		}
	}
	say("%d tasks wait; node1 is lost", len(s.queue))
	if _, err := fleet.Fail("node1/gpu0", "node1/gpu1"); err != nil {
		return err
	}
	if err := s.lost(ctx, "node1/gpu0", "node1/gpu1"); err != nil {
		return err
	}
	waiting := s.queue
	say("the scheduler restarts; %d tasks wait", len(waiting))
	if s, err = open(dir, inventory(cards, fleet.GPUs()), fleet.Now, start); err != nil {
		return err
	}
	if err := s.lost(ctx, "node1/gpu0", "node1/gpu1"); err != nil {
		return err
	}
	s.queue = waiting
	say("node1 is back")
	if err := fleet.Repair("node1/gpu0", "node1/gpu1"); err != nil {
		return err
	}
	if err := s.back(ctx, cards[2:]...); err != nil {
		return err
	}
	for e, ok := fleet.Step(time.Time{}); ok; e, ok = fleet.Step(time.Time{}) {
		say("%s ends", e.Task)
		if err := s.ended(ctx, e.Task, e.Seen); err != nil {
			return err
		}
	}
	say("%d tasks wait", len(s.queue))
	return fleet.Err()
}

// inventory is all cards, those that are up with what runs there.
func inventory(cards, up []colloc.GPU) []colloc.GPU {
	all := slices.Clone(cards)
	for _, g := range up {
		all[slices.IndexFunc(all, func(c colloc.GPU) bool { return c.ID == g.ID })] = g
	}
	return all
}

// request describes a task of a tenant, as a solo run showed it.
func request(id, tenant string, kind, gpus int) colloc.Task {
	p, err := profile.Solo{
		Name: fmt.Sprint("net", kind), GPU: "RTX3090", Batch: 32,
		SMActive: profile.Some(0.15 + 0.3*float64(kind%3)), Memory: profile.Some(profile.GiB * profile.Bytes(3+4*(kind%3))),
	}.Profile()
	if err != nil {
		return colloc.Task{ID: id} // which the Planner refuses
	}
	return colloc.Task{ID: id, Profile: &p, GPUs: gpus, Labels: []string{tenant}, Only: []string{tenant}}
}
