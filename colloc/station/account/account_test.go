package account_test

import (
	"bytes"
	"iter"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/colloc/station/account"
	"example.com/colloc/colloc/station/api"
)

func at(hour int) time.Time { return time.Date(2026, 3, 14, hour, 0, 0, 0, time.UTC) }

func jobs() []api.Job {
	return []api.Job{
		{User: "bob", State: queue.Succeeded, Submitted: at(1), Started: at(2), Ended: at(6), Width: 2, OutOfMemory: 1}, // begins before
		{User: "ann", State: queue.Failed, Submitted: at(4), Started: at(5), Ended: at(7), Width: 1},
		{User: "ann", State: queue.Cancelled, Submitted: at(6), Started: at(8), Ended: at(12), Width: 1}, // ends after
		{User: "ann", State: queue.Running, Submitted: at(9), Started: at(9), Width: 1},
		{User: "bob", State: queue.Queued, Submitted: at(3), Started: at(4), Width: 1},    // it waits again
		{User: "bob", State: queue.Cancelled, Submitted: at(5), Ended: at(6), Width: 1},   // it never ran
		{User: "eve", State: queue.Succeeded, Started: at(1), Ended: at(3), Width: 1},     // before
		{User: "eve", State: queue.Running, Submitted: at(10), Started: at(10), Width: 1}, // after
	}
}

// each gives jobs one after the other.
func each(jobs []api.Job) iter.Seq[*api.Job] {
	return func(yield func(*api.Job) bool) {
		for i := range jobs {
			if !yield(&jobs[i]) {
				return
			}
		}
	}
}

func TestOf(t *testing.T) {
	want := []account.Row{
		{User: "ann", Jobs: 3, Failed: 1, GPUHours: 2 + 2 + 1, Waited: 1 + 2},
		{User: "bob", Jobs: 1, Succeeded: 1, GPUHours: 2 * 2, OutOfMemory: 1},
	}
	if diff := cmp.Diff(want, account.Of(each(jobs()), at(4), at(10))); diff != "" {
		t.Error(diff)
	}
	if all := account.Of(each(jobs()), time.Time{}, at(20)); len(all) != 3 || all[2].GPUHours != 2+10 || all[1].GPUHours != 8 || all[0].Cancelled != 1 {
		t.Errorf("from the beginning: %+v", all)
	}
	if none := account.Of(each(nil), at(4), at(10)); none == nil || len(none) != 0 {
		t.Errorf("of nothing: %+v", none)
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := account.CSV(&b, []account.Row{{User: "a,\"b\n", Jobs: 3, GPUHours: 0.25}}); err != nil {
		t.Fatal(err)
	}
	const want = "user,jobs,succeeded,failed,cancelled,gpu_hours,waited_hours,out_of_memory\n\"a,\"\"b\n\",3,0,0,0,0.2500,0.0000,0\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// Who had what of the GPUs on one day.
func Example() {
	rows := account.Of(each(jobs()), at(4), at(10))
	if err := account.CSV(os.Stdout, rows); err != nil {
		panic(err)
	}
	// Output:
	// user,jobs,succeeded,failed,cancelled,gpu_hours,waited_hours,out_of_memory
	// ann,3,0,1,0,5.0000,3.0000,0
	// bob,1,1,0,0,4.0000,0.0000,1
}
