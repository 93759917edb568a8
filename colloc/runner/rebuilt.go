package runner

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// leftRuns finds, by the key of their tasks, runs of a queue that was lost: those
// that go on and, if the queue was set aside because it was damaged, those that
// succeeded. Submit takes them over instead of running the same again beside them.
func (r *Runner) leftRuns() (map[string]leftRun, error) {
	claims, err := filepath.Glob(filepath.Join(r.config.Dir, "runs-*", "*"+supervise.ClaimEnd))
	if err != nil {
		return nil, err
	}
	aside, err := filepath.Glob(filepath.Join(r.config.Dir, queueFile+".corrupt-*"))
	if err != nil {
		return nil, err
	}
	left := make(map[string]leftRun)
	for _, name := range claims {
		stem := strings.TrimSuffix(name, supervise.ClaimEnd)
		who, claimed, err := supervise.ReadClaim(stem)
		if err != nil || !claimed || who.Key == "" || filepath.Base(filepath.Dir(stem)) == r.store.runs {
			continue
		}
		o, ended := supervise.ReadExit(stem)
		lives := !ended && who.Space.ID == r.config.space.ID && who.Alive()
		if !lives && (!ended || !o.OK() || len(aside) == 0) {
			continue
		}
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(stem), "."))
		if err == nil && (lives || left[who.Key].stem == "") {
			left[who.Key] = leftRun{stem: stem, runs: n, who: who}
		}
	}
	return left, nil
}

// takeLeft makes a new task the one whose run was left, if there is such a run.
func (r *Runner) takeLeft(e *entry) {
	key := supervise.Key(e.Task.ID, e.Task.Dir, e.argv())
	run, ok := r.left[key]
	if !ok {
		return
	}
	delete(r.left, key)
	e.State, e.Runs, e.Log = Starting, run.runs, run.stem+supervise.LogEnd
	e.adopted, e.keeper, e.Started = true, run.who.PID, r.now()
	if info, err := os.Lstat(run.stem + supervise.ClaimEnd); err == nil && info.ModTime().Before(e.Started) {
		e.Started = info.ModTime()
	}
	e.follower.Begin(r.patterns[e.Task.Progress.Pattern], e.Log, run.stem+supervise.StepsEnd)
	for id := range strings.SplitSeq(supervise.Variable(run.who.PID, envVisible), ",") {
		e.GPUs = append(e.GPUs, nvmlx.DeviceID(id))
	}
	e.GPU, e.Mechanism, e.Reserved = e.GPUs[0], profile.TimeSlice, max(1, e.reserve())
	cards := r.cardsOf(e)
	if len(cards) != e.Task.width() {
		e.GPU, e.GPUs, e.Reserved = "", nil, 0
		return // it is over, or on a GPU that is not there: what it uses counts as a foreigner's
	}
	e.Mechanism = cmp.Or(cards[0].mechanism, e.Mechanism)
	if len(cards) == 1 {
		e.GPUs = nil
	}
	r.join(e, e.Mechanism)
	if r.book(e, cards, e.Reserved) != nil {
		e.Reserved = 0 // as above
	}
}

// takeAllLeft does so for all tasks of a Submit.
func (r *Runner) takeAllLeft(entries []*entry) {
	if len(r.left) == 0 {
		return
	}
	for _, e := range entries {
		r.takeLeft(e)
	}
}
