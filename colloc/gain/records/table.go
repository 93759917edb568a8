package records

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// A column is what a field of a table means.
type column int

const (
	other column = iota
	id
	raw
	user
	name
	partition
	state
	submit
	eligible
	start
	end
	elapsed
	tres
	reqTRES
	gres
	reqGRES
	nodeCount
	nodeList
	usedMost
	usedMean
	usedTotal
	gpuCount
	product
	nodeNames
	smActive
	dramActive
	gpuBusy
	memBusy
	memory

	columns int = iota
)

// names are the columns by their names in small letters: sacct's, and ours.
//
//nolint:gochecknoglobals // read-only table
var names = map[string]column{
	"jobid": id, "jobidraw": raw, "user": user, "jobname": name, "partition": partition, "state": state,
	"submit": submit, "eligible": eligible, "start": start, "end": end, "elapsed": elapsed, "elapsedraw": elapsed,
	"alloctres": tres, "reqtres": reqTRES, "allocgres": gres, "reqgres": reqGRES, "nnodes": nodeCount, "allocnodes": nodeCount, "nodelist": nodeList,
	"tresusageinmax": usedMost, "tresusageinave": usedMean, "tresusageintot": usedTotal,

	"job": id, "id": id, "name": name, "queue": partition, "submitted": submit, "started": start, "ended": end,
	"gpus": gpuCount, "gpu": product, "product": product, "nodes": nodeNames, "elapsed_s": elapsed,
	"sm_active": smActive, "dram_active": dramActive, "gpu_busy": gpuBusy, "mem_busy": memBusy, "memory": memory,
}

// table reads rows with a header. One that is not sacct's has the columns job, user, name, queue, state, submitted,
// start, end, gpus, gpu, nodes, sm_active, dram_active, gpu_busy, mem_busy and memory, with a comma, a semicolon or a
// tab between them. job, start, end and gpus are needed. Rows with one job and the same start count
// once. nodes are divided by blanks; shares of use lie in [0, 1], memory is the peak on each
// GPU ("12GiB"). Fields may be quoted; a row is one line.
type table struct {
	*builder
	loc       *time.Location
	what      []column     // of each field
	at        [columns]int // field of each column, -1 for none
	fields    []string
	current   *Job // whose steps follow
	of        string
	nodeLists map[string][]string
}

// readTable reads a table from its header on.
func readTable(in *bufio.Reader, o *Options) (*Log, error) {
	header, err := line(in)
	if err != nil {
		return nil, err
	}
	header = strings.TrimPrefix(header, "\ufeff")
	t := &table{loc: o.location(), nodeLists: map[string][]string{}}
	delimiter, ok := divider(header)
	if !ok {
		return nil, errors.New("the first line is no header: use sacct --parsable2 without --noheader, or a table with the columns job, start, end, gpus")
	}
	if err := t.head(strings.Split(header, delimiter)); err != nil {
		return nil, err
	}
	t.builder = newBuilder("sacct")
	take := t.bars
	if delimiter != "|" {
		t.builder = newBuilder("table")
		take = t.quoted(rune(delimiter[0]))
	}
	if err := lines(in, take); err != nil {
		return nil, err
	}
	return t.finish(), nil
}

// divider finds what stands between the columns of a header.
func divider(header string) (string, bool) {
	for _, d := range []string{"|", ",", ";", "\t"} {
		for field := range strings.SplitSeq(header, d) {
			c := names[word(field)]
			if (c == id || c == start) && strings.Contains(header, d) {
				return d, true
			}
		}
	}
	return "", false
}

// word is a name of a column as names has it.
func word(field string) string {
	return strings.ToLower(strings.Trim(strings.TrimSpace(field), `"`))
}

// head understands the header.
func (t *table) head(fields []string) error {
	for i := range t.at {
		t.at[i] = -1
	}
	for i, f := range fields {
		f = word(f)
		c := names[f]
		if c != other && t.at[c] >= 0 && f != "elapsedraw" { // the first counts, but seconds are exact
			c = other
		}
		t.what = append(t.what, c)
		if c != other {
			t.at[c] = i
		}
	}
	var missing []string
	for _, need := range []struct {
		any  []column
		name string
	}{{[]column{id}, "JobID"}, {[]column{start}, "Start"}, {[]column{end}, "End"}, {[]column{tres, gres, gpuCount}, "AllocTRES (or gpus)"}} {
		found := false
		for _, c := range need.any {
			found = found || t.at[c] >= 0
		}
		if !found {
			missing = append(missing, need.name)
		}
	}
	if missing != nil {
		return fmt.Errorf("the header has no column %s", strings.Join(missing, ", "))
	}
	return nil
}

// lines gives each line that is not empty, with its number, to a function.
func lines(in *bufio.Reader, take func(n int, text string)) error {
	for n := 2; ; n++ { // behind the header
		text, err := line(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if strings.TrimSpace(text) != "" {
			take(n, text)
		}
	}
}

// bars reads what sacct prints. A job's name may hold bars: what is too much is its.
func (t *table) bars(n int, text string) {
	t.fields = t.fields[:0]
	for f := range strings.SplitSeq(text, "|") {
		t.fields = append(t.fields, f)
	}
	more := len(t.fields) - len(t.what)
	if at := t.at[name]; more > 0 && at >= 0 {
		t.fields[at] = strings.Join(t.fields[at:at+more+1], "|")
		t.fields = append(t.fields[:at+1], t.fields[at+1+more:]...)
	}
	if len(t.fields) != len(t.what) {
		t.damaged(n, "%d fields, want %d: %s", len(t.fields), len(t.what), clip(text))
		return
	}
	t.row(n)
}

// quoted reads lines in which fields may be quoted, each by itself: a quote that nobody closes
// costs its line.
func (t *table) quoted(comma rune) func(n int, text string) {
	var one strings.Reader
	r := csv.NewReader(&one)
	r.Comma, r.ReuseRecord, r.FieldsPerRecord, r.LazyQuotes = comma, true, -1, true
	return func(n int, text string) {
		one.Reset(text)
		fields, err := r.Read()
		switch {
		case err != nil:
			t.damaged(n, "%w: %s", err, clip(text))
		case len(fields) != len(t.what):
			t.damaged(n, "%d fields, want %d: %s", len(fields), len(t.what), clip(text))
		default:
			t.fields = fields
			t.row(n)
		}
	}
}

// get returns a field; empty if there is no such column.
func (t *table) get(c column) string {
	if t.at[c] < 0 {
		return ""
	}
	return strings.TrimSpace(t.fields[t.at[c]])
}

// row understands one row: a job, or a step of the job before.
func (t *table) row(n int) {
	key := t.get(id)
	if base, _, step := strings.Cut(key, "."); step && (t.at[tres] >= 0 || t.at[gres] >= 0) {
		if t.current != nil && base == t.of {
			t.current.saw(site.UsedOf(t.get(usedMost)), site.UsedOf(t.get(usedMean)), site.UsedOf(t.get(usedTotal)))
		}
		return
	}
	t.current, t.of = nil, key
	r, err := t.job(key)
	if err != nil {
		t.damaged(n, "%w", err)
		return
	}
	t.current = t.add(r, n)
}

// job reads the fields of a job.
func (t *table) job(key string) (*row, error) {
	r := &row{Job: Job{ID: key, Raw: t.get(raw), User: t.get(user), Name: t.get(name), Partition: t.get(partition)}}
	if r.Raw == r.ID {
		r.Raw = ""
	}
	if key == "" {
		return nil, errors.New("a job without a number")
	}
	r.State, _, _ = strings.Cut(t.get(state), " ") // "CANCELLED by 1000"
	var errs [4]error
	r.Submitted, errs[0] = instant(t.get(submit), t.loc)
	r.eligible, errs[1] = instant(t.get(eligible), t.loc)
	r.Started, errs[2] = instant(t.get(start), t.loc)
	r.Ended, errs[3] = instant(t.get(end), t.loc)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("job %s: %w", clip(key), err)
	}
	r.elapsed = site.Duration(t.get(elapsed))
	if err := t.hardware(r); err != nil {
		return nil, fmt.Errorf("job %s: %w", clip(key), err)
	}
	return r, t.watched(r)
}

// hardware reads what the job had.
func (t *table) hardware(r *row) error {
	var err error
	switch list := t.get(nodeList); {
	case t.at[nodeNames] >= 0:
		r.Nodes = strings.Fields(t.get(nodeNames))
	case list == "" || list == "None assigned" || list == "None" || list == "(null)":
	default:
		if r.Nodes, err = t.expand(list); err != nil {
			return err
		}
	}
	if s := t.get(gpuCount); t.at[gpuCount] >= 0 {
		n, err := strconv.ParseFloat(cmpOr(s, "0"), 64)
		if err != nil || n < 0 || n > maxGPUs {
			return fmt.Errorf("%s GPUs, want a number", clip(s))
		}
		r.GPUs, r.shares, r.Product = int(n), n > 0, t.get(product)
		return nil
	}
	for _, list := range []string{t.get(tres), t.get(reqTRES)} {
		if r.GPUs, r.Product, r.shares = gpusOf(list); r.GPUs > 0 || r.shares {
			return nil
		}
	}
	return t.perNode(r)
}

// perNode reads GRES as they were before Slurm counted them as resources: on each node.
func (t *table) perNode(r *row) error {
	list := cmpOr(t.get(gres), t.get(reqGRES))
	held, err := site.ParseGres(list)
	if err != nil {
		return nil //nolint:nilerr // no GPUs in words that are known
	}
	nodes, err := strconv.Atoi(cmpOr(t.get(nodeCount), "1"))
	if err != nil || nodes < 1 {
		nodes = max(1, len(r.Nodes))
	}
	for _, h := range held {
		switch h.Name {
		case "gpu":
			r.GPUs, r.Product = min(r.GPUs+h.Count*min(nodes, maxGPUs), maxGPUs), h.Type
		case "shard", "mps":
			r.shares = true
		}
	}
	return nil
}

// expand remembers lists of nodes: a site has few, and a log many.
func (t *table) expand(list string) ([]string, error) {
	if known, ok := t.nodeLists[list]; ok {
		return known, nil
	}
	nodes, err := site.ExpandNodes(list)
	if err != nil {
		return nil, err
	}
	t.nodeLists[list] = nodes
	return nodes, nil
}

// watched reads the columns of use.
func (t *table) watched(r *row) error {
	for _, c := range []struct {
		at column
		to *profile.Opt[float64]
	}{{smActive, &r.Seen.SMActive}, {dramActive, &r.Seen.DRAMActive}, {gpuBusy, &r.Seen.GPUBusy}, {memBusy, &r.Seen.MemBusy}} {
		s := t.get(c.at)
		if s == "" {
			continue
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return fmt.Errorf("job %s: a share of %s, want 0 to 1, not per cent", clip(r.ID), clip(s))
		}
		*c.to = profile.Some(v)
	}
	if s := t.get(memory); s != "" {
		n, err := profile.ParseBytes(s)
		if err != nil {
			return fmt.Errorf("job %s: memory %s, want for example 12GiB", clip(r.ID), clip(s))
		}
		r.Seen.Memory = profile.Some(n)
	}
	if r.Seen == (profile.Solo{}) && t.at[usedMost] >= 0 { // sacct -X has it beside the job
		r.saw(site.UsedOf(t.get(usedMost)), site.UsedOf(t.get(usedMean)), site.UsedOf(t.get(usedTotal)))
	}
	return nil
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
