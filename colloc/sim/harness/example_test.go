package harness_test

import (
	"fmt"
	"log"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/harness"
	"example.com/colloc/profile"
)

// A scheduler under test: it places what waits, and learns from what ended.
func ExampleFleet() {
	cards, err := harness.Cards("2xA100-40GB")
	if err != nil {
		log.Fatal(err)
	}
	fleet, err := harness.New(harness.Config{GPUs: cards})
	if err != nil {
		log.Fatal(err)
	}
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		p, err := profile.Solo{Name: name, GPU: "A100-40GB", SMActive: profile.Some(0.2), Memory: profile.Some(4 * profile.GiB)}.Profile()
		if err != nil {
			log.Fatal(err)
		}
		task := colloc.Task{ID: name, Profile: &p}
		at, _, err := planner.Best(task, fleet.GPUs())
		if err != nil || at < 0 {
			log.Fatal("it waits: ", err)
		}
		if err := fleet.Start(task, sim.Task{Work: time.Hour, Memory: 4 * profile.GiB}, cards[at].ID); err != nil {
			log.Fatal(err)
		}
	}
	for event, ok := fleet.Step(time.Time{}); ok; event, ok = fleet.Step(time.Time{}) {
		fmt.Println(event.Task, "ends at", event.At.Format("15:04"), "on", event.GPUs[0])
		if err := planner.Observe(event.Seen); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// b ends at 01:00 on node0/gpu1
	// a ends at 01:04 on node0/gpu0
	// c ends at 01:04 on node0/gpu0
}
