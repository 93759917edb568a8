package records_test

import (
	"fmt"
	"log"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // TestZone, wherever it runs

	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/profile"
	"example.com/colloc/profile/tracefile"
)

const head = "JobID|JobIDRaw|User|JobName|Partition|State|Submit|Eligible|Start|End|ElapsedRaw|AllocTRES|ReqTRES|NodeList|TRESUsageInMax|TRESUsageInTot|TRESUsageInAve\n"

func Example() {
	sacct := head +
		"17|17|ann|train|gpu|COMPLETED|2026-01-31T12:00:00|2026-01-31T12:00:00|2026-01-31T12:10:00|2026-01-31T13:10:00|3600|cpu=8,gres/gpu:v100=2,gres/gpu=2,mem=32G,node=1|cpu=8,gres/gpu=2|n1|||\n" +
		"17.batch|17.batch||batch||COMPLETED|||2026-01-31T12:10:00|2026-01-31T13:10:00|3600|cpu=8|||gres/gpumem=9G,gres/gpuutil=70|gres/gpuutil=120|\n"
	l, err := records.Read(strings.NewReader(sacct), nil)
	if err != nil {
		log.Fatal(err)
	}
	j := l.Jobs[0]
	fmt.Printf("job %s of %s: %d GPUs of type %s for %v, busy %v, %v\n", j.ID, j.User, j.GPUs, j.Product, j.Ran, j.Seen.GPUBusy, j.Seen.Memory)
	// Output:
	// job 17 of ann: 2 GPUs of type v100 for 1h0m0s, busy 0.6, 9 GiB
}

// line is a row of sacct's with what differs.
func line(id, submit, start, end, elapsed, tres string) string {
	return strings.Join([]string{id, id, "ann", "train", "gpu", "COMPLETED", submit, submit, start, end, elapsed, tres, "", "n1", "", "", ""}, "|") + "\n"
}

const (
	t0, t1, t2, t3 = "2026-01-31T12:00:00", "2026-01-31T12:10:00", "2026-01-31T13:10:00", "2026-01-31T15:00:00"
	gpu            = "cpu=1,gres/gpu:v100=1,gres/gpu=1"
)

func read(tb testing.TB, text string) *records.Log {
	tb.Helper()
	l, err := records.Read(strings.NewReader(text), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func TestSacct(t *testing.T) {
	tests := []struct {
		name, rows string
		jobs       string // id, GPUs, product, waited, ran
		left       records.Left
		warned     string
	}{
		{"a job", line("1", t0, t1, t2, "3600", gpu), "1 1 v100 10m0s 1h0m0s", records.Left{}, ""},
		{"none on a GPU", line("1", t0, t1, t2, "3600", "cpu=4,mem=1G"), "", records.Left{NoGPU: 1}, ""},
		{"shares", line("1", t0, t1, t2, "3600", "cpu=4,gres/shard=3") + line("2", t0, t1, t2, "3600", "gres/mps:a100=50"), "", records.Left{Shares: 2}, ""},
		{"never started", line("1", t0, "Unknown", "Unknown", "0", "") + strings.Replace(line("2", t0, "None", t2, "0", ""), "||n1", "|gres/gpu=1|None assigned", 1), "", records.Left{NoGPU: 1, Waiting: 1}, ""},
		{"still runs", line("1", t0, t1, "Unknown", "600", gpu) + line("2", t0, t1, t3, "", gpu), "1 1 v100 10m0s 10m0s; 2 1 v100 10m0s 2h50m0s", records.Left{Open: 1}, ""},
		{"started with the last", line("1", t0, t1, t3, "", gpu) + line("2", t0, t3, "Unknown", "", gpu), "1 1 v100 10m0s 2h50m0s", records.Left{Waiting: 1}, ""},
		{"untyped", line("1", t0, t1, t2, "", "billing=3,gres/gpu=3"), "1 3  10m0s 1h0m0s", records.Left{}, ""},
		{"two types", line("1", t0, t1, t2, "", "gres/gpu:a=1,gres/gpu:b=2"), "1 3 b 10m0s 1h0m0s", records.Left{}, ""},
		{"suspended", line("1", t0, t1, t3, "3600", gpu), "1 1 v100 10m0s 1h0m0s", records.Left{}, ""},
		{"suspended, in hours and minutes", line("1", t0, t1, t3, "01:00:00", gpu), "1 1 v100 10m0s 1h0m0s", records.Left{}, ""},
		{"array and het job", line("7_[1-9%2]", t0, "Unknown", "Unknown", "0", "gres/gpu=1") + line("7_1", t0, t1, t2, "", gpu) + line("9+1", t0, t1, t2, "", gpu), "7_1 1 v100 10m0s 1h0m0s; 9+1 1 v100 10m0s 1h0m0s", records.Left{Waiting: 1}, ""},
		{"requeued", line("1", t0, t1, t2, "", gpu) + line("1", t0, "2026-01-31T14:00:00", t3, "", gpu), "1 1 v100 10m0s 1h0m0s; 1#2 1 v100 50m0s 1h0m0s", records.Left{}, ""},
		{"exported twice", line("1", t0, t1, "Unknown", "60", gpu) + line("1", t0, t1, t2, "3600", gpu) + line("1", t0, t1, t2, "3600", gpu), "1 1 v100 10m0s 1h0m0s", records.Left{Repeated: 2}, ""},
		{"ended before it began", line("1", t0, t2, t1, "", gpu), "", records.Left{Damaged: 1}, "line 2"},
		{"cut off", line("1", t0, t1, t2, "", gpu) + "2|2|ann|tr\n", "1 1 v100 10m0s 1h0m0s", records.Left{Damaged: 1}, "line 3: 4 fields, want 17"},
		{"no time", line("1", "yesterday", t1, t2, "", gpu), "", records.Left{Damaged: 1}, `"yesterday" is no time`},
		{"a bar in the name", strings.Replace(line("1", t0, t1, t2, "", gpu), "|train|", "|a|b||c|", 1), "1 1 v100 10m0s 1h0m0s", records.Left{}, ""},
		{"seconds since 1970, a zone, a limit without end", line("1", "1769860800", "2026-01-31T13:10:00+01:00", "2026-01-31T14:10:00+0100", "UNLIMITED", gpu), "1 1 v100 10m0s 1h0m0s", records.Left{}, ""},
		{"a step without its job", line("5.0", t0, t1, t2, "", gpu), "", records.Left{}, ""},
		{"huge numbers", line("1", t0, t1, t2, "99999999999999999999", "gres/gpu=99999999999999999999"), "", records.Left{NoGPU: 1}, ""},
		{"days", line("1", t0, "2026-01-30T00:00:00", "2026-02-01T00:00:00", "2-00:00:00", gpu), "1 1 v100 0s 48h0m0s", records.Left{}, ""},
		{"an hour too early", line("1", t0, t2, t1, "600", gpu), "", records.Left{Damaged: 1}, "line 2: job 1 ended at 2026-01-31T12:10:00Z, before it started"},
		{"the same second", line("1", t0, t1, t1, "0", gpu), "", records.Left{Waiting: 1}, ""},
		{"a blank before the time, with a zone and without seconds", line("1", "2026-01-31 12:00", "2026-01-31 13:10:00+01:00", t2, "", gpu), "1 1 v100 10m0s 1h0m0s", records.Left{}, ""},
		{"a day alone", line("1", "2026-01-31", t1, t2, "", gpu), "", records.Left{Damaged: 1}, "\"2026-01-31\" is no time: want 2026-01-31T12:00:00"},
		{"in the order of submission", line("2", t1, t2, t3, "", gpu) + line("1", t0, t1, t3, "", gpu), "1 1 v100 10m0s 2h50m0s; 2 1 v100 1h0m0s 1h50m0s", records.Left{}, ""},
		{"ten days", line("1", "2026-01-01T00:00:00", "2026-01-01T00:00:00", t2, "10-00:00:00", gpu), "1 1 v100 0s 240h0m0s", records.Left{}, ""},
		{"four numbers", line("1", t0, t1, t2, "1:2:3:4", gpu), "1 1 v100 10m0s 1h0m0s", records.Left{}, ""},
		{"no number of days", line("1", t0, t1, t2, "x-00:30:00", gpu), "1 1 v100 10m0s 1h0m0s", records.Left{}, ""},
		{"no number of minutes", line("1", t0, t1, t2, "00:x:00", gpu), "1 1 v100 10m0s 1h0m0s", records.Left{}, ""},
		{"longer than a century", line("1", t0, t1, t2, "9999999999", gpu), "1 1 v100 10m0s 1h0m0s", records.Left{}, ""},
		{"seconds beyond all", line("1", "100000000000", t1, t2, "", gpu), "", records.Left{Damaged: 1}, "is no time: want seconds since 1970"},
		{"no start", line("1", t0, "noon", t2, "", gpu), "", records.Left{Damaged: 1}, `"noon" is no time`},
		{"never eligible", strings.Replace(line("1", t0, t1, t2, "", gpu), t0+"|"+t0, t0+"|noon", 1), "", records.Left{Damaged: 1}, `"noon" is no time`},
		{"a long time", line("1", strings.Repeat("x", 99), t1, t2, "", gpu), "", records.Left{Damaged: 1}, `"` + strings.Repeat("x", 40) + `..." is no time`},
		{"a node list that is none", strings.Replace(line("1", t0, t1, t2, "", gpu), "|n1|", "|n[1-|", 1), "", records.Left{Damaged: 1}, "node list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := read(t, head+tt.rows)
			var got []string
			for _, j := range l.Jobs {
				got = append(got, fmt.Sprintf("%s %d %s %v %v", j.ID, j.GPUs, j.Product, j.Started.Sub(j.Submitted), j.Ran))
			}
			if s := strings.Join(got, "; "); s != tt.jobs {
				t.Errorf("jobs %q, want %q", s, tt.jobs)
			}
			if l.Left != tt.left {
				t.Errorf("left %+v, want %+v", l.Left, tt.left)
			}
			if said := fmt.Sprint(l.Warnings); !strings.Contains(said, tt.warned) || tt.warned == "" && len(l.Warnings) > 0 {
				t.Errorf("warnings %v, want %q", l.Warnings, tt.warned)
			}
		})
	}
}

// TestRecorded: what sacct 22.05 printed, as text and as JSON, of a private cluster of two nodes
// on which a job's name holds a bar, an array ran, one job was put back, one still runs, and
// others wait, want no GPU or shares of one.
func TestRecorded(t *testing.T) {
	const want = "1 1 5s [g1]; 2 1 4s [g1]; 3_1 2 3s [g2]; 3_2 2 2s [g2]; 3_3 2 3s [g1]; 6 1 3s [g2]; 7 4 3s [g1 g2]"
	for _, name := range []string{"testdata/sacct-22.05.txt", "testdata/sacct-22.05.json"} {
		l, err := records.ReadFile(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		runs := map[string]int{}
		for _, j := range l.Jobs {
			if j.Product != "a100" || j.User != "root" {
				t.Errorf("%s: job %+v", name, j)
			}
			if strings.HasPrefix(j.Name, "r") { // those that run and were put back depend on when was recorded
				runs[j.Name]++
				if j.Name != "req" {
					continue
				}
			}
			got = append(got, fmt.Sprintf("%s %d %v %v", j.ID, j.GPUs, j.Ran, j.Nodes))
		}
		slices.Sort(got)
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: %s\nwant %s", name, s, want)
		}
		if l.Left.NoGPU == 0 || l.Left.Shares != 1 || l.Left.Open != 1 || l.Left.Damaged != 0 || runs["runs"] != 1 || runs["req2"] == 0 {
			t.Errorf("%s: %+v, %v, runs %v", name, l.Left, l.Warnings, runs)
		}
	}
}

// TestForms: the same job in every form.
func TestForms(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	want := records.Job{
		ID: "1", User: "ann", Name: "train", Submitted: at, Started: at.Add(10 * time.Minute), Ended: at.Add(70 * time.Minute), Ran: time.Hour, GPUs: 2,
		Seen: profile.Solo{Memory: profile.Some(9 * profile.GiB)},
	}
	forms := map[string]string{
		"sacct":      "JobID|User|JobName|Submit|Start|End|AllocTRES|TRESUsageInMax\n1|ann|train|2026-01-31T12:00:00|2026-01-31T12:10:00|2026-01-31T13:10:00|gres/gpu=2|gres/gpumem=9G\n",
		"parsable":   "\ufeffJobID|User|JobName|Submit|Start|End|AllocGRES|NNodes|TRESUsageInMax|\r\n1|ann|train|2026-01-31T12:00:00|2026-01-31T12:10:00|2026-01-31T13:10:00|gpu:1|2|gres/gpumem=9G|\r\n",
		"comma":      "user,job,name,submitted,start,end,gpus,memory\nann,1,\"train\",2026-01-31 12:00:00,2026-01-31T12:10:00Z,1769865000,2,9GiB\n",
		"tab":        "job\tuser\tname\tsubmitted\tstart\tend\tgpus\tmemory\n1\tann\ttrain\t2026-01-31T12:00\t2026-01-31T12:10\t2026-01-31T13:10\t2\t9GiB\n",
		"sacct json": `{"meta":{"x":[1]},"errors":[],"jobs":[{"job_id":1,"user":"ann","name":"train","state":{"current":["COMPLETED"]},"time":{"submission":1769860700,"eligible":1769860800,"start":1769861400,"end":1769865000,"elapsed":3600},"tres":{"allocated":[{"type":"gres","name":"gpu","count":2}]},"steps":[{"tres":{"requested":{"max":[{"type":"gres","name":"gpumem","count":9663676416}]}}}]}]}`,
		"station":    `[{"id":"1","user":"ann","name":"train","state":"succeeded","submitted":"2026-01-31T12:00:00Z","started":"2026-01-31T13:10:00+01:00","ended":"2026-01-31T13:10:00Z","width":2,"peak":9663676416}]`,
	}
	for name, text := range forms {
		l := read(t, text)
		if len(l.Jobs) != 1 || len(l.Warnings) > 0 {
			t.Fatalf("%s: %d jobs, %v", name, len(l.Jobs), l.Warnings)
		}
		got := l.Jobs[0]
		got.State, got.Nodes = "", nil
		got.Started, got.Ended = got.Started.UTC(), got.Ended.UTC()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":         {" \n", "empty"},
		"a letter":        {"x", "no header"},
		"no header":       {line("1", t0, t1, t2, "", gpu), "no header"},
		"a fixed width":   {"       JobID    JobName\n------------ ----------\n1              train+\n", "fixed width"},
		"a narrow column": {"Job\n---\n  1\n", "fixed width"},
		"no GPUs":         {"JobID|Start|End\n", "AllocTRES"},
		"no times":        {"JobID|AllocTRES\n", "Start, End"},
		"other JSON":      {`{"nodes":[]}`, `without "jobs"`},
		"jobs of no kind": {`{"jobs":3}`, "no list"},
		"JSON cut off":    {`{"meta":{"a`, "JSON"},
	} {
		if _, err := records.Read(strings.NewReader(tt.text), nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
	if _, err := records.ReadFile("none", nil); !os.IsNotExist(unwrap(err)) {
		t.Errorf("no file: %v", err)
	}
	l := read(t, `{"jobs":[{"job_id":1,"time":{"start":1,"end":9},"tres":{"allocated":[{"type":"gres","name":"gpu","count":1}]}},{"job_id":`)
	if len(l.Jobs) != 1 || l.Left.Damaged != 1 || !strings.HasPrefix(l.Warnings[0].Error(), "entry 2: ") {
		t.Errorf("cut off: %d jobs, %+v, %v", len(l.Jobs), l.Left, l.Warnings)
	}
	l = read(t, "\n\n[{\"id\":\"1\",\"width\":65536,\"started\":\"2026-01-31T12:00:00Z\",\"ended\":\"2026-01-31T13:00:00Z\"},{\"id\":\"2\",\"width\":65537},{\"id\":\"3\",\"width\":-1},{\"id\":\"4\",\"width\":0}")
	if said := fmt.Sprint(l.Warnings); len(l.Jobs) != 1 || said != `[entry 2: job "2": 65537 GPUs entry 3: job "3": -1 GPUs entry 5: the list is cut off before it]` {
		t.Errorf("widths: %d jobs, %s", len(l.Jobs), said)
	}
}

func unwrap(err error) error {
	for {
		next, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = next.Unwrap()
	}
}

// TestZone: times are those of the place, and an hour that comes twice costs no job.
func TestZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	rows := line("1", t0, t1, t2, "", gpu) + line("2", "2026-10-25T02:10:00", "2026-10-25T02:50:00", "2026-10-25T02:10:00", "1200", gpu)
	l, err := records.Read(strings.NewReader(head+rows), &records.Options{Location: berlin})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Jobs) != 2 || l.Jobs[0].Started.Hour() != 11 || l.Jobs[1].Ran != 20*time.Minute || !l.Jobs[1].Ended.After(l.Jobs[1].Started) {
		t.Errorf("%+v, %v", l.Jobs, l.Warnings)
	}
}

// TestMerge: two exports that overlap are one history.
func TestMerge(t *testing.T) {
	l := read(t, head+line("1", t0, t1, t2, "", gpu)+line("2", t0, t1, t3, "", gpu))
	l.Merge(read(t, head+line("2", t0, t1, t3, "", gpu)+line("3", "2026-01-30T00:00:00", t1, t3, "", gpu)))
	var ids []string
	for _, j := range l.Jobs {
		ids = append(ids, j.ID)
	}
	from, until, ok := l.Span()
	if fmt.Sprint(ids) != "[3 1 2]" || l.Left.Repeated != 1 || !ok || from.Day() != 30 || until.Hour() != 15 {
		t.Errorf("%v, %+v, %v to %v", ids, l.Left, from, until)
	}
}

// TestMergeLeft: what two logs left out adds up.
func TestMergeLeft(t *testing.T) {
	l := read(t, head+strings.Repeat(line("1", t0, t1, t2, "", gpu), 2)+line("2", t0, t1, t2, "", "cpu=1")+line("5", t0, "Unknown", "Unknown", "", gpu))
	l.Merge(read(t, head+strings.Repeat(line("3", t0, t1, t2, "", gpu), 3)+line("4", t0, t1, t2, "", "cpu=1")+line("6", t0, "Unknown", "Unknown", "", gpu)))
	if want := (records.Left{Repeated: 3, NoGPU: 2, Waiting: 2}); l.Left != want {
		t.Errorf("%+v, want %+v", l.Left, want)
	}
}

// TestSpan: a history lasts until its last end, which need not be that of the job submitted last.
func TestSpan(t *testing.T) {
	from, until, ok := read(t, head+line("1", t0, t1, t3, "", gpu)+line("2", t1, t1, t2, "", gpu)).Span()
	if !ok || from.Hour() != 12 || until.Hour() != 15 {
		t.Errorf("%v to %v", from, until)
	}
	if _, _, ok := new(records.Log).Span(); ok {
		t.Error("a log without jobs has a span")
	}
}

// TestMergeOpen: a job that still ran when one export was made has the end that the other tells.
func TestMergeOpen(t *testing.T) {
	early := head + line("1", t0, t1, "Unknown", "", gpu) + line("2", t0, t1, t2, "", gpu)
	late := head + line("1", t0, t1, t3, "", gpu)
	later := head + line("1", t0, t1, "Unknown", "", gpu) + line("3", t0, t2, t3, "", gpu)
	for _, tt := range []struct {
		name, first, second string
		open                int
	}{{"the end comes second", early, late, 0}, {"the end comes first", late, early, 0}, {"no end", early, later, 1}, {"no end, the later first", later, early, 1}} {
		l := read(t, tt.first)
		l.Merge(read(t, tt.second))
		i := slices.IndexFunc(l.Jobs, func(j records.Job) bool { return j.ID == "1" })
		if l.Jobs[i].Ran != 170*time.Minute || l.Left.Open != tt.open || l.Left.Repeated != 1 {
			t.Errorf("%s: ran for %v, want 2h50m; %+v, want %d open", tt.name, l.Jobs[i].Ran, l.Left, tt.open)
		}
	}
}

// TestMergeAgain: an end that is known stays known, however often it is told.
func TestMergeAgain(t *testing.T) {
	l := read(t, head+line("1", t0, t1, "Unknown", "600", gpu)+line("2", t0, t2, t3, "", gpu))
	for range 3 {
		l.Merge(read(t, head+line("1", t0, t1, t2, "", gpu)))
	}
	if len(l.Jobs) != 2 || l.Left.Open != 0 || l.Left.Repeated != 3 || l.Jobs[0].Ran != time.Hour {
		t.Errorf("%+v, %+v", l.Jobs, l.Left)
	}
}

// TestKind: jobs of one user whose names differ in numbers alone are of one kind.
func TestKind(t *testing.T) {
	for name, want := range map[string]string{"train": "ann/train", "train12_3": "ann/train#_#", "7": "ann/#", "a/b:c09": "ann/a/b:c#", "": "ann/"} {
		j := records.Job{User: "ann", Name: name}
		if got := j.Kind(); got != want {
			t.Errorf("%q is of kind %q, want %q", name, got, want)
		}
	}
}

// TestTable: what others write as tables.
func TestTable(t *testing.T) {
	const head, row = "job,name,start,end,gpus\n", ",x,5,9,2\n"
	for _, tt := range []struct {
		name, text, ids string
		left            records.Left
	}{
		{"a quote that nobody closes", head + "1" + row + "2,\"12 inch,5,9,2\n3" + row + "4" + row, "1 3 4", records.Left{Damaged: 1}},
		{"a line that is empty before", "\n" + head + "1" + row, "1", records.Left{}},
		{"a header in quotes", "\"\",\"job\",\"start\",\"end\",\"gpus\"\n\"1\",\"17\",5,9,2\n", "17", records.Left{}},
		{"a delimiter in quotes", head + "1,\"a,b\",5,9,2\n", "1", records.Left{}},
		{"a number like that of a run", head + "1" + row + "1,x,7,9,2\n1#2,x,8,9,2\n", "1 1#2 1_2", records.Left{}},
		{"steps", "JobID|Start|End|AllocGRES|NNodes\n5|5|9|gpu:2|1\n5.batch|5|9|gpu:2|1\n5.0|6|9|gpu:2|1\n", "5", records.Left{}},
		{"steps, GRES first", "AllocGRES|JobID|Start|End\ngpu:2|5|5|9\ngpu:2|5.0|6|9\n", "5", records.Left{}},
		{"steps, TRES first", "AllocTRES|JobID|Start|End\ngres/gpu=2|5|5|9\ngres/gpu=2|5.0|6|9\n", "5", records.Left{}},
		{"a number with a point", head + "a.1" + row, "a.1", records.Left{}},
		{"an empty line behind the header", head + "\n1" + row, "1", records.Left{}},
		{"a dash behind the header", head + "-1" + row, "-1", records.Left{}},
		{"one job and start", head + strings.Repeat("1"+row, 3), "1", records.Left{Repeated: 2}},
	} {
		l := read(t, tt.text)
		var ids []string
		for _, j := range l.Jobs {
			ids = append(ids, j.ID)
		}
		if s := strings.Join(ids, " "); s != tt.ids || l.Left != tt.left || len(l.Warnings) != tt.left.Damaged {
			t.Errorf("%s: jobs %s, %+v, %v, want %s, %+v", tt.name, s, l.Left, l.Warnings, tt.ids, tt.left)
		}
	}
}

// TestColumns: columns stand in any order, and of what a table says of GPUs whole ones count.
func TestColumns(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		gpus       int // of the only job, or 0
		left       records.Left
	}{
		{"GPUs first", "gpus,job,start,end\n2,1,5,9\n", 2, records.Left{}},
		{"nodes first", "nodes,gpus,job,start,end\nn1 n2,2,1,5,9\n", 2, records.Left{}},
		{"a name first, with a bar", "JobName|JobID|Start|End|AllocTRES\na|b|1|5|9|gres/gpu=2\n", 2, records.Left{}},
		{"none", "job,start,end,gpus\n1,5,9,0\n", 0, records.Left{NoGPU: 1}},
		{"not said", "job,start,end,gpus\n1,5,9,\n", 0, records.Left{NoGPU: 1}},
		{"a part", "job,start,end,gpus\n1,5,9,0.5\n", 0, records.Left{Shares: 1}},
		{"less than none", "job,start,end,gpus\n1,5,9,-1\n", 0, records.Left{Damaged: 1}},
		{"the most", "job,start,end,gpus\n1,5,9,65536\n", 65536, records.Left{}},
		{"too many", "job,start,end,gpus\n1,5,9,65537\n", 0, records.Left{Damaged: 1}},
		{"all of the SMs", "job,start,end,gpus,sm_active,memory\n1,5,9,1,1,0\n", 1, records.Left{}},
		{"idle", "job,start,end,gpus,sm_active\n1,5,9,1,0\n", 1, records.Left{}},
		{"per cent", "job,start,end,gpus,sm_active\n1,5,9,1,87\n", 0, records.Left{Damaged: 1}},
		{"less than idle", "job,start,end,gpus,gpu_busy\n1,5,9,1,-0.1\n", 0, records.Left{Damaged: 1}},
		{"memory below none", "job,start,end,gpus,memory\n1,5,9,1,-1GiB\n", 0, records.Left{Damaged: 1}},
		{"on each of some nodes", "JobID|Start|End|AllocGRES|NNodes|NodeList\n1|5|9|gpu:2|?|n[1-3]\n", 6, records.Left{}},
		{"GRES first", "AllocGRES|JobID|Start|End\ngpu:2|1|5|9\n", 2, records.Left{}},
		{"on each of nodes that are counted", "JobID|Start|End|AllocGRES|NNodes|NodeList\n1|5|9|gpu:2|2|n[1-3]\n", 4, records.Left{}},
	} {
		l := read(t, tt.text)
		gpus := 0
		for _, j := range l.Jobs {
			gpus += j.GPUs
		}
		if gpus != tt.gpus || l.Left != tt.left {
			t.Errorf("%s: %d GPUs, %+v, %v; want %d, %+v", tt.name, gpus, l.Left, l.Warnings, tt.gpus, tt.left)
		}
	}
	if l := read(t, "nodes,gpus,job,start,end\nn1 n2,2,1,5,9\n"); !slices.Equal(l.Jobs[0].Nodes, []string{"n1", "n2"}) {
		t.Errorf("nodes %q, want n1 and n2", l.Jobs[0].Nodes)
	}
	for _, columns := range []string{"Elapsed|ElapsedRaw|JobID|Start|End|AllocTRES\n00:10:00|601|1|5|", "ElapsedRaw|Elapsed|JobID|Start|End|AllocTRES\n601|00:10:00|1|5|"} {
		if l := read(t, columns+"10000|gres/gpu=1\n"); l.Jobs[0].Ran != 601*time.Second {
			t.Errorf("ran for %v, want the seconds that ElapsedRaw tells exactly", l.Jobs[0].Ran)
		}
	}
}

// TestUsage: what steps used is their job's; what makes no sense is not said.
func TestUsage(t *testing.T) {
	const head, job = "JobID|Start|End|AllocTRES|TRESUsageInMax|TRESUsageInTot\n", "1|5|9|gres/gpu=2||\n"
	for _, tt := range []struct {
		name, rows string
		busy       float64
		memory     profile.Bytes
	}{
		{"of both GPUs", job + "1.0|5|9||gres/gpumem=9G|gres/gpuutil=120\n", 0.6, 9 * profile.GiB},
		{"of the only GPU", "1|5|9|gres/gpu=1||\n1.0|5|9|||gres/gpuutil=60\n", 0.6, 0},
		{"the most of several steps", job + "1.0|5|9||gres/gpumem=9G|gres/gpuutil=120\n1.1|5|9||gres/gpumem=8G|gres/gpuutil=20\n", 0.6, 9 * profile.GiB},
		{"all of both, and more", job + "1.0|5|9|||gres/gpuutil=1000000\n", 1, 0},
		{"bytes", job + "1.0|5|9||gres/gpumem=9663676416|\n", 0, 9 * profile.GiB},
		{"kilobytes", job + "1.0|5|9||gres/gpumem=1048576K|\n", 0, profile.GiB},
		{"less than nothing", job + "1.0|5|9||gres/gpumem=-9G|gres/gpuutil=-5\n", 0, 0},
		{"beyond all", job + "1.0|5|9||gres/gpumem=1048576G|gres/gpuutil=1000001\n", 0, 0},
		{"no numbers", job + "1.0|5|9||gres/gpumem=x|gres/gpuutil=x\n", 0, 0},
		{"another job's", job + "2.0|5|9||gres/gpumem=9G|gres/gpuutil=120\n", 0, 0},
		{"a damaged job's", "1|5|x|gres/gpu=2||\n1.0|5|9||gres/gpumem=9G|gres/gpuutil=120\n" + job, 0, 0},
	} {
		l := read(t, head+tt.rows)
		if len(l.Jobs) != 1 {
			t.Fatalf("%s: %d jobs, %v", tt.name, len(l.Jobs), l.Warnings)
		}
		if seen := l.Jobs[0].Seen; seen.GPUBusy.Or(0) != tt.busy || seen.Memory.Or(0) != tt.memory || seen.GPUBusy.IsZero() != (tt.busy == 0) {
			t.Errorf("%s: seen %v and %v, want %v and %v", tt.name, seen.GPUBusy, seen.Memory, tt.busy, tt.memory)
		}
	}
	l := read(t, "JobID|Start|End|AllocTRES|TRESUsageInMax|TRESUsageInAve\n1|5|9|gres/gpu=2||\n1.0|5|9||gres/gpumem=9G|gres/gpuutil=60\n")
	if busy := l.Jobs[0].Seen.GPUBusy; busy != profile.Some(0.6) {
		t.Errorf("busy for %v, want 0.6, as its tasks are on average", busy)
	}
	l = read(t, "TRESUsageInMax|JobID|Start|End|AllocTRES\ngres/gpumem=9G|1|5|9|gres/gpu=1\n")
	if peak := l.Jobs[0].Seen.Memory; peak != profile.Some(9*profile.GiB) {
		t.Errorf("a job that tells of itself what its steps used took %v, want 9 GiB", peak)
	}
}

// TestAttachSome: a counter that some samples have is their mean, one that none has is not
// known; memory is that of the GPU where it is most.
func TestAttachSome(t *testing.T) {
	l := read(t, head+line("1", t0, t1, t2, "", "gres/gpu=2"))
	gpu := func(name string, peak profile.Bytes, sm profile.Opt[float64]) profile.Trace {
		tr := profile.Trace{Labels: map[string]string{tracefile.LabelJob: "1", tracefile.LabelGPU: name}}
		for i := range 3 {
			tr.Samples = append(tr.Samples, profile.Sample{At: l.Jobs[0].Started.Add(time.Duration(i) * time.Minute), DRAMActive: profile.Some(0.25), GPUBusy: profile.Some(0.5), MemUsed: profile.Some(peak)})
		}
		tr.Samples[1].SMActive = sm
		return tr
	}
	if found := l.Attach([]profile.Trace{gpu("0", 3*profile.GiB, profile.Some(0.3)), gpu("1", 2*profile.GiB, profile.Opt[float64]{})}); found.Labelled != 1 {
		t.Fatalf("%+v", found)
	}
	want := profile.Solo{SMActive: profile.Some(0.3), DRAMActive: profile.Some(0.25), GPUBusy: profile.Some(0.5), Memory: profile.Some(3 * profile.GiB)}
	if got := l.Jobs[0].Seen; got != want {
		t.Errorf("seen %+v, want %+v", got, want)
	}
}

// TestAttach: a GPU's use is a job's where the log says so, or where nobody else was.
func TestAttach(t *testing.T) {
	l := read(t, head+line("1", t0, t1, t2, "", "gres/gpu=1")+line("2", t0, t2, t3, "", "gres/gpu=1")+line("3", t0, t2, t3, "", "gres/gpu=1")+
		strings.Replace(line("4", t0, t1, t2, "", "gres/gpu=1"), "|n1|", "|n2|", 1)+strings.Replace(line("5_1", t0, t1, t2, "", "gres/gpu=1"), "5_1|5_1", "5_1|77", 1))
	start := l.Jobs[0].Submitted
	trace := func(busy float64, mem profile.Bytes, labels ...string) profile.Trace {
		tr := profile.Trace{Labels: map[string]string{}}
		for i := 0; i < len(labels); i += 2 {
			tr.Labels[labels[i]] = labels[i+1]
		}
		for i := range 400 {
			tr.Samples = append(tr.Samples, profile.Sample{At: start.Add(time.Duration(i) * time.Minute), GPUBusy: profile.Some(busy), MemUsed: profile.Some(mem)})
		}
		return tr
	}
	found := l.Attach([]profile.Trace{
		trace(0.0, 0, tracefile.LabelHost, "n1.example.com:9400", tracefile.LabelGPU, "0"),
		trace(0.5, profile.GiB, tracefile.LabelHost, "N1", tracefile.LabelGPU, "1"),
		trace(0.7, 2*profile.GiB, tracefile.LabelJob, "3"), trace(0.8, 3*profile.GiB, tracefile.LabelJob, "77"),
	})
	if want := (records.Attached{Labelled: 2, Alone: 0, Unclear: 2}); found != want {
		t.Errorf("%+v, want %+v", found, want) // 1 and 5_1 are on n1 at once
	}
	l.Jobs = l.Jobs[:1]
	if found := l.Attach([]profile.Trace{trace(0.0, 0, tracefile.LabelHost, "n1"), trace(0.5, profile.GiB, tracefile.LabelHost, "n1")}); found.Alone != 1 {
		t.Errorf("alone: %+v", found)
	}
	if j := l.Jobs[0]; j.Seen.GPUBusy.Or(0) != 0.5 || j.Seen.Memory.Or(0) != profile.GiB || !j.Observed() {
		t.Errorf("job %s: %+v, want what the busy GPU did", j.ID, j.Seen)
	}
}

// TestAttachOrder: a node is a job's alone for the jobs' times, in whatever order they came.
func TestAttachOrder(t *testing.T) {
	l := read(t, head+line("1", t0, t2, t3, "", "gres/gpu=1")+line("2", t0, t1, t2, "", "gres/gpu=1"))
	tr := profile.Trace{Labels: map[string]string{tracefile.LabelHost: "n1", tracefile.LabelGPU: "0"}}
	for i := range 200 {
		tr.Samples = append(tr.Samples, profile.Sample{At: l.Jobs[0].Submitted.Add(time.Duration(i) * time.Minute), GPUBusy: profile.Some(0.5), MemUsed: profile.Some(profile.GiB)})
	}
	l.Jobs[0], l.Jobs[1] = l.Jobs[1], l.Jobs[0] // the one that started first is last
	if found := l.Attach([]profile.Trace{tr}); found.Alone != 2 {
		t.Errorf("%+v, want both alone", found)
	}
}

// TestAttachNothing: a trace that says nothing of memory, or has too few samples, tells nothing.
func TestAttachNothing(t *testing.T) {
	for _, n := range []int{1, 60} {
		l := read(t, head+line("1", t0, t1, t2, "", "gres/gpu=1"))
		tr := profile.Trace{Labels: map[string]string{tracefile.LabelJob: "1"}}
		for i := range n {
			s := profile.Sample{At: l.Jobs[0].Started.Add(time.Duration(i) * time.Minute), GPUBusy: profile.Some(0.5)}
			if n == 1 {
				s.MemUsed = profile.Some(profile.GiB)
			}
			tr.Samples = append(tr.Samples, s)
		}
		l.Attach([]profile.Trace{tr})
		if j := l.Jobs[0]; j.Observed() || j.Seen != (profile.Solo{}) {
			t.Errorf("%d samples: seen %+v", n, j.Seen)
		}
	}
}

// FuzzRead: no text stops the reader, and what it returns can be true.
func FuzzRead(f *testing.F) {
	f.Add(head + line("1", t0, t1, t2, "3600", gpu) + line("1.0", t0, t1, t2, "3600", gpu))
	f.Add("job,start,end,gpus,memory,sm_active\n1,5,9,2,1GiB,.5\n")
	f.Add("job,start,end,gpus\n1,5,9,2\n1,7,9,2\n1#2,8,9,2\n")
	f.Add(`{"jobs":[{"job_id":1,"array":{"job_id":3,"task_id":{"set":true,"number":4}},"time":{"start":1,"end":9},"tres":{"allocated":[{"type":"gres","name":"gpu:a","count":1}]}}]}`)
	f.Add(`[{"id":"1","started":"2026-01-31T13:10:00+01:00","ended":"2026-01-31T14:10:00Z","width":2}]`)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := records.Read(strings.NewReader(text), nil)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for i, j := range l.Jobs {
			if j.GPUs < 1 || j.Ran <= 0 || j.Ended.Before(j.Started) || j.Started.Before(j.Submitted) || seen[j.ID] || i > 0 && j.Submitted.Before(l.Jobs[i-1].Submitted) {
				t.Fatalf("job %+v", j)
			}
			seen[j.ID] = true
		}
	})
}

// TestStation: a station says what the GPUs of a job are, and what memory it took, if anybody saw.
func TestStation(t *testing.T) {
	for peak, want := range map[string]profile.Opt[profile.Bytes]{"0": profile.Some(profile.Bytes(0)), "5": profile.Some(profile.Bytes(5)), "null": {}} {
		l := read(t, `[{"id":"1","user":"ann","state":"succeeded","submitted":"2026-01-31T12:00:00Z","started":"2026-01-31T12:10:00Z","ended":"2026-01-31T13:10:00Z","width":1,"product":"NVIDIA A100-SXM4-40GB","peak":`+peak+`}]`)
		if len(l.Jobs) != 1 || l.Jobs[0].Product != "NVIDIA A100-SXM4-40GB" || l.Jobs[0].Seen.Memory != want {
			t.Errorf("peak %s: got %+v, %v", peak, l.Jobs, l.Warnings)
		}
	}
}

// TestStationShares: jobs of a station that shared a GPU had no whole one each.
func TestStationShares(t *testing.T) {
	job := func(id, from, to, gpus string) string {
		return `{"id":"` + id + `","user":"ann","state":"succeeded","started":"2026-01-31T` + from + `:00Z","ended":"2026-01-31T` + to + `:00Z","width":1,"gpus":[` + gpus + `]}`
	}
	l := read(t, `[`+strings.Join([]string{
		job("1", "12:00", "18:00", "0"), job("2", "13:00", "14:00", "0"), job("3", "15:00", "16:00", "0"), // two beside the first
		job("4", "18:00", "19:00", "0"), job("5", "12:00", "18:00", "1"), job("6", "12:00", "18:00", ""), // alone, on another GPU, not said
		job("7", "12:00", "12:30", "2"), strings.Replace(job("8", "12:00", "", "2"), `"ended":"2026-01-31T:00Z",`, "", 1), // one still runs
	}, ",")+`]`)
	var ids []string
	for _, j := range l.Jobs {
		ids = append(ids, j.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"4", "5", "6"}) || l.Left.Shares != 5 || l.Left.Open != 0 {
		t.Errorf("jobs %q, %+v; want 4, 5 and 6, five on shares", ids, l.Left)
	}
}
