package days

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"

	"example.com/colloc/colloc/sim/measured"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// Sets returns the sets of this package: AEGIS' days on three A100.
func Sets() []protocol.Set {
	set := protocol.NewSet("days_aegis", open)
	set.File = "aegis/runs_a100"
	return []protocol.Set{set}
}

// open reads what lies beside base; trainings alone may lie with the rows to train on.
func open(folder, base string) (*dayTable, error) {
	if _, err := os.Stat(filepath.Join(folder, base+".csv")); err != nil {
		return nil, err
	}
	t := &dayTable{folder: os.DirFS(filepath.Join(folder, path.Dir(base)))}
	var err error
	if t.days, err = measured.Open(t.folder); errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	return t, err
}

type dayTable struct {
	folder fs.FS
	days   []measured.Day
}

func (t *dayTable) Size() int                { return len(t.days) }
func (t *dayTable) Splits() []protocol.Split { return protocol.Unfitted("day", t.Size()) }

// repetitions is how often each day is played, each time with lengths drawn anew.
const repetitions = 20

// Score plays every policy that ran, as it ran. Its errors are those of the mean over
// repetitions; a prediction of the picture is a makespan or a mean completion time.
func (t *dayTable) Score(train *dayTable, _ []protocol.Fold) ([]protocol.Result, error) {
	days := t.days
	if t != train { // trainings alone may be there
		var err error
		if days, err = measured.Open(train.folder, t.folder); err != nil {
			return nil, err
		}
		days = unseen(days, train.days)
	}
	fitted, err := pretrained.Interference()
	if err != nil {
		return nil, err
	}
	var out []protocol.Result
	for _, mech := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
		m := measured.Machine{Truth: speed.By{Model: speed.Fitted{Interference: fitted}, Mechanism: mech}}
		all := protocol.Result{Model: "simulated_" + mech.String(), Picture: protocol.Picture{Unit: "s"}}
		var sum [2]float64
		for _, p := range m.Policies() {
			r, err := played(days, m, p)
			if err != nil {
				return nil, err
			}
			all.N, all.Points = all.N+r.n, append(all.Points, r.points...)
			one := protocol.Result{Model: p.Name + "_" + mech.String(), N: r.n}
			for k, name := range [2]string{"makespan_off_pct", "mean_jct_off_pct"} {
				sum[k] += r.off[k]
				one.Add(name, 100*r.off[k]/float64(max(1, r.n)))
			}
			one.Add("worst_off_pct", 100*r.worst)
			out = append(out, one)
		}
		all.Add("makespan_off_pct", 100*sum[0]/float64(max(1, all.N)))
		all.Add("mean_jct_off_pct", 100*sum[1]/float64(max(1, all.N)))
		out = append(out, all)
	}
	return out, nil
}

// unseen are the days that are not among those to train on.
func unseen(days, train []measured.Day) []measured.Day {
	var out []measured.Day
	for i := range days {
		known := false
		for k := range train {
			known = known || train[k].Name == days[i].Name
		}
		if !known {
			out = append(out, days[i])
		}
	}
	return out
}

// errorsOf is how far a policy's runs are off.
type errorsOf struct {
	n      int
	off    [2]float64 // makespan and mean completion time, summed over runs
	worst  float64
	points []protocol.Point
}

// played plays a policy on all days on which it ran.
func played(days []measured.Day, m measured.Machine, p measured.Policy) (errorsOf, error) {
	var out errorsOf
	for i := range days {
		for _, run := range days[i].Runs {
			if run.Policy != p.Name {
				continue
			}
			var got [2]float64
			for seed := range uint64(repetitions) {
				r, err := days[i].Play(context.Background(), m, p, seed)
				if err != nil {
					return out, err
				}
				got[0] += r.Makespan.Seconds() / repetitions
				got[1] += r.MeanJCT.Seconds() / repetitions
			}
			out.n++
			for k, seen := range [2]float64{run.Makespan.Seconds(), run.MeanJCT.Seconds()} {
				off := math.Abs(got[k]/seen - 1)
				out.off[k], out.worst = out.off[k]+off, max(out.worst, off)
				out.points = append(out.points, protocol.Point{Seen: seen, Predicted: got[k]})
			}
		}
	}
	return out, nil
}
