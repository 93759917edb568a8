package main

import (
	"bytes"
	"strings"
	"testing"
)

// events are what go test -json prints of a package in which one test passes, one
// skips and one has a part that skips.
const events = `{"Action":"start","Package":"example.com/colloc/packer"}
{"Action":"output","Package":"example.com/colloc/packer","Output":"-test.shuffle 17\n"}
{"Action":"run","Package":"example.com/colloc/packer","Test":"TestA"}
{"Action":"output","Package":"example.com/colloc/packer","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"example.com/colloc/packer","Test":"TestA","Elapsed":0}
{"Action":"run","Package":"example.com/colloc/packer","Test":"TestB"}
{"Action":"output","Package":"example.com/colloc/packer","Test":"TestB","Output":"    b_test.go:1: no GPU\n"}
{"Action":"skip","Package":"example.com/colloc/packer","Test":"TestB","Elapsed":0}
{"Action":"run","Package":"example.com/colloc/packer","Test":"TestC"}
{"Action":"run","Package":"example.com/colloc/packer","Test":"TestC/part"}
{"Action":"skip","Package":"example.com/colloc/packer","Test":"TestC/part","Elapsed":0}
{"Action":"pass","Package":"example.com/colloc/packer","Test":"TestC","Elapsed":0}
{"Action":"output","Package":"example.com/colloc/packer","Output":"PASS\n"}
{"Action":"output","Package":"example.com/colloc/packer","Output":"ok  \texample.com/colloc/packer\t0.1s\n"}
{"Action":"pass","Package":"example.com/colloc/packer","Elapsed":0.1}
{"Action":"output","Package":"example.com/colloc/docs","Output":"?   \texample.com/colloc/docs\t[no test files]\n"}
{"Action":"skip","Package":"example.com/colloc/docs","Elapsed":0}
`

const list = `# why tests skip
race,plain packer TestB needs a GPU
race packer TestC/part takes too long with the race detector
`

func TestCheck(t *testing.T) {
	const quiet = "ok  \texample.com/colloc/packer\t0.1s\n?   \texample.com/colloc/docs\t[no test files]\n"
	for _, tt := range []struct {
		name, list, events string
		race               bool
		out, err           string
	}{
		{name: "all on the list", list: list, events: events, race: true, out: quiet},
		{name: "not on the list", list: strings.Replace(list, "TestB", "TestA", 1), events: events, race: true, out: quiet, err: "packer TestB skipped: install what it needs, or give the reason in the list\n    b_test.go:1: no GPU\n"},
		{name: "no entry at all", events: events, race: true, out: quiet, err: "packer TestC/part skipped"},
		{name: "on the list with the race detector only", list: list, events: events, out: quiet, err: "packer TestC/part skipped"},
		{name: "a part of a test on the list", list: strings.ReplaceAll(list, "/part", ""), events: events, race: true, out: quiet},
		{name: "the beginning of its name is not enough", list: strings.Replace(list, "TestB", "Test", 1), events: events, race: true, out: quiet, err: "packer TestB skipped"},
		{name: "an old entry", list: list + "race packer TestGone needs a GPU\n", events: events, race: true, out: quiet, err: "line 4: there is no test TestGone in packer any more"},
		{name: "an entry of a package that was not tested", list: list + "race sim TestGone needs a GPU\n", events: events, race: true, out: quiet},
		{name: "an entry without a reason", list: "race packer TestB\n", events: events, err: "line 1: want runs, package"},
		{name: "an old entry for another run", list: list + "plain packer TestGone needs a GPU\n", events: events, race: true, out: quiet},
		{name: "nothing", list: list, err: "no package was tested"},
		{
			name: "a test fails", list: list, race: true,
			events: events + `{"Action":"output","Package":"example.com/colloc/nvmlx","Test":"TestD","Output":"--- FAIL: TestD\n"}
{"Action":"fail","Package":"example.com/colloc/nvmlx","Test":"TestD/part"}
{"Action":"fail","Package":"example.com/colloc/nvmlx","Test":"TestD"}
{"Action":"output","Package":"example.com/colloc/nvmlx","Test":"TestE","Output":"panic: time ran out\n"}
{"Action":"output","Package":"example.com/colloc/nvmlx","Output":"FAIL\texample.com/colloc/nvmlx\n"}
{"Action":"fail","Package":"example.com/colloc/nvmlx"}
`,
			out: quiet + "--- FAIL: TestD\npanic: time ran out\nFAIL\texample.com/colloc/nvmlx\n", err: "tests failed: nvmlx TestD;",
		},
		{
			name: "a package does not build", list: list,
			events: `{"ImportPath":"x","Action":"build-output","Output":"x.go:1: undefined: y\n"}
{"ImportPath":"x","Action":"build-fail"}
# linker
{"Action":"output","Package":"example.com/colloc/sim","Output":"FAIL\tsim [build failed]\n"}
{"Action":"fail","Package":"example.com/colloc/sim"}
`,
			out: "x.go:1: undefined: y\n# linker\nFAIL\tsim [build failed]\n", err: "tests failed: sim;",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			run := map[bool]string{true: "race", false: "plain"}[tt.race]
			err := check([]byte(tt.list), run, strings.NewReader(tt.events), &out)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error is %v, want %q", err, tt.err)
			}
			if out.String() != tt.out {
				t.Errorf("it prints\n%s\nwant\n%s", out.String(), tt.out)
			}
		})
	}
}
