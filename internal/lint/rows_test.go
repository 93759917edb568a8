package lint

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strconv"
	"testing"
	"testing/fstest"
)

// rows returns the rows of every CSV file in data without its header. Rows of
// fewer than minFields fields are left out: they could be anybody's.
func rows(data fs.FS) (map[string]bool, error) {
	const minFields = 5
	found := make(map[string]bool)
	err := fs.WalkDir(data, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".csv" {
			return err
		}
		text, err := fs.ReadFile(data, name)
		_, text, _ = bytes.Cut(text, []byte("\n"))
		for line := range bytes.Lines(text) {
			if bytes.Count(line, []byte(",")) >= minFields-1 {
				found[string(bytes.TrimSpace(line))] = true
			}
		}
		return err
	})
	return found, err
}

// measuredRows finds rows in the files of a tree, as lines or as Go strings.
func measuredRows(tr *tree, rows map[string]bool) []string {
	var findings []string
	for _, name := range tr.names() {
		n := 0
		for line := range bytes.Lines(tr.text[name]) {
			n++
			bare := bytes.Trim(bytes.TrimRight(bytes.TrimSpace(line), ","), "\"`")
			if rows[string(bytes.TrimSpace(line))] || rows[string(bare)] {
				findings = append(findings, name+":"+strconv.Itoa(n)+": a row of the measured data: its licence does not allow that")
			}
		}
	}
	return findings
}

func TestMeasuredRows(t *testing.T) {
	data := fstest.MapFS{
		"a.csv":        {Data: []byte("model,batch,a,b,peak\nresnet,32,1,2,9000\nx,1,2,3,\nshort,1,2\n")},
		"sub/b.csv":    {Data: []byte("m,n,o,p,q\r\nbert,8,3,4,7000\r\n")},
		"README.md":    {Data: []byte("\nnot,a,row,at,all\n")},
		"sub/model.ok": {Data: []byte("\n1,2,3,4,5\n")},
	}
	known, err := rows(data)
	if err != nil {
		t.Fatal(err)
	}
	testRule(t, func(tr *tree) []string { return measuredRows(tr, known) }, []ruleTest{
		{
			name: "facts",
			files: map[string]string{
				"predict/testdata/a.csv": "model,batch,a,b,peak\nresnet,33,1,2,9000\nshort,1,2\n",
				"README.md":              "resnet needs 9000 MiB\nnot,a,row,at,all\n1,2,3,4,5\n",
			},
		},
		{
			name: "copied",
			files: map[string]string{
				"predict/a_test.go":      "package predict\n\nvar t = []string{\n\t\"bert,8,3,4,7000\",\n\t`x,1,2,3,`,\n}\n",
				"predict/testdata/a.csv": "m,b,a,b,p\n  resnet,32,1,2,9000",
			},
			want: []string{
				"predict/a_test.go:4: a row of the measured data: its licence does not allow that",
				"predict/a_test.go:5: a row of the measured data: its licence does not allow that",
				"predict/testdata/a.csv:2: a row of the measured data: its licence does not allow that",
			},
		},
	})
}

// TestTreeRows holds this checkout against the measured data itself.
func TestTreeRows(t *testing.T) {
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		t.Skip("set COLLOC_DATA to the folder of measured data to check that no row of it is here")
	}
	known, err := rows(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(known) == 0 {
		t.Fatalf("COLLOC_DATA=%s: no CSV file with rows", dir)
	}
	for _, finding := range measuredRows(realTree(t), known) {
		t.Error(finding)
	}
}
