package dispatchtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/dispatch/dispatchtest"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// body keeps its Dispatcher's state with the World, and is told everything anew where that is lost.
type body struct {
	w *dispatchtest.World
	d *dispatch.Dispatcher
}

func open(p dispatch.Mind, o *dispatch.Options) func(w *dispatchtest.World) (dispatchtest.Body, error) {
	return func(w *dispatchtest.World) (dispatchtest.Body, error) {
		if saved := w.Saved(); saved != nil {
			d, err := dispatch.Restore(p, o, saved)
			return &body{w, d}, err
		}
		d, err := dispatch.New(p, o)
		if err != nil {
			return nil, err
		}
		if w.Now() > 0 {
			err = d.Tell(w.Now(), w.Everything()...)
		}
		return &body{w, d}, err
	}
}

// Turn implements dispatchtest.Body.
func (b *body) Turn(ctx context.Context) (time.Duration, error) {
	for _, e := range b.w.Events() {
		err := b.d.Tell(b.w.Now(), e)
		if err != nil && !dispatch.Stale(err) {
			return 0, err
		}
	}
	actions, err := b.d.Decide(ctx, b.w.Now())
	if err != nil {
		return 0, err
	}
	for _, a := range actions {
		if err := b.w.Do(a); err != nil {
			if err := b.d.Tell(b.w.Now(), dispatch.Refused{Job: a.Job, Run: a.Run, Why: err.Error()}); err != nil {
				return 0, err
			}
		}
	}
	state, err := b.d.State()
	if err != nil {
		return 0, err
	}
	b.w.Save(state)
	next, _ := b.d.Next()
	return next, nil
}

// ExamplePlay plays a day with the smallest body that there can be.
func ExamplePlay() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		panic(err)
	}
	faults := dispatchtest.Play(7, open(planner, nil))
	fmt.Println(len(faults), "faults")
	// Output: 0 faults
}

// TestFaults plays days of faults: with the plain rule, and looking ahead.
func TestFaults(t *testing.T) {
	p, err := colloc.New(colloc.Config{MaxSet: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, budget := range []int{0, 300} {
		t.Run(fmt.Sprintf("budget %d", budget), func(t *testing.T) {
			dispatchtest.Run(t, open(p, &dispatch.Options{Scheduler: online.SchedulerOptions{Budget: profile.Some(budget)}}))
		})
	}
}
