package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/internal/testbed"
	"example.com/colloc/profile"
)

// hostile are texts that a shell would like to take for something else.
var hostile = []string{
	"", " ", "  a  b ", "'", "''", `"`, `\`, `\\`, `\'`, `'\''`, "$", "$HOME", "$(touch pwned)", "`touch pwned`", "${x:?}", "a\nb", "\n", "\r\n", "\t",
	"-", "--", "-n", "-e x", "--help", "*", "?", "[a-z]", "{a,b}", "~", "~root", "!", "!!", "#", "# no comment", ";", "a;b", "&", "|", "<x", ">x", "()",
	"a=b", "=", "%", "%q", "%1", "%s%n", ":", "\x01", "\x7f", "\x1b[31m", "\xff\xfe", "é", "日本", "\u202e", "\u00a0", "\u2028", "\ufeff", "$'a'", `$"a"`, "EOF",
	"if", "done", "}", "function", "a\\\nb", "0", "1>2", "\"$@\"", "\x80'\x80",
}

// hostileText generates hostile texts without NUL.
func hostileText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom(hostile),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom(hostile), 2, 4), func(s []string) string { return strings.Join(s, "") }),
		rapid.Map(rapid.SliceOfN(rapid.ByteRange(1, 255), 0, 12), func(b []byte) string { return string(b) }),
	)
}

func checkQuoted(tb testing.TB, words []string) {
	tb.Helper()
	code := "printf '%s\\0' " + quoteAll(words)
	if strings.Contains(code, "\n") {
		tb.Fatalf("%q takes more than one line: %s", words, code)
	}
	for _, locale := range []string{"C", "C.UTF-8"} {
		cmd := exec.Command("bash", "-c", code)
		cmd.Env = append(os.Environ(), "LC_ALL="+locale)
		out, err := cmd.Output()
		if err != nil {
			tb.Fatalf("bash -c %q: %v", code, err)
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if diff := cmp.Diff(words, got); diff != "" {
			tb.Fatalf("LC_ALL=%s: bash read something else (-want +got):\n%s", locale, diff)
		}
	}
}

func TestQuoteHostile(t *testing.T) { checkQuoted(t, hostile) }

func TestQuoteProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		checkQuoted(t, rapid.SliceOfN(hostileText(), 1, 40).Draw(r, "words"))
	})
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":          "''",
		"train.py":  "train.py",
		"azAZ09":    "azAZ09",
		"a b":       "'a b'",
		"it's":      `'it'\''s'`,
		"a\nb'\\":   `$'a\x0ab\'\\'`,
		"\u202eabc": `$'\xe2\x80\xaeabc'`,
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) is %s, want %s", in, got, want)
		}
	}
}

// hostileName generates hostile names of files: what a file cannot be called is
// replaced.
func hostileName(prefix string) *rapid.Generator[string] {
	return rapid.Map(hostileText(), func(s string) string { return prefix + strings.ReplaceAll(s, "/", "_") })
}

// variable generates NAME=value, with names that may be bash's own.
func variable() *rapid.Generator[string] {
	return rapid.Custom(func(r *rapid.T) string {
		name := rapid.OneOf(
			rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,5}`),
			rapid.SampledFrom([]string{
				"HOME", "LANG", "LC_ALL", "BASH_COMPAT", "EXECIGNORE", "GLOBIGNORE", "HISTSIZE", "TMOUT", "LINES", "COLUMNS", "MAILCHECK", "histchars",
				"HOSTNAME", "SHELL", "TERM", "OSTYPE", "MACHTYPE", "PROMPT_COMMAND", "TIMEFORMAT", "INSIDE_EMACS", "pids", "names", "gpus", "code", "signals", "logs", "pid", "SECONDS", "UID",
			}),
		).Draw(r, "name")
		return name + "=" + hostileText().Draw(r, "value")
	})
}

// What a script says, its tasks receive, byte for byte: arguments, variables,
// folders, logs, whatever they are called.
func TestScriptHostile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "run")
		if err != nil {
			t.Fatal(err)
		}
		task := Task{
			Name: hostileName("t").Draw(r, "name"),
			Env:  rapid.SliceOfNDistinct(variable().Filter(func(s string) bool { return checkVariable(s) == nil }), 0, 6, variableName).Draw(r, "env"),
			Dir:  hostileName(rapid.SampledFrom([]string{"", "-", "~", "d"}).Draw(r, "dir prefix")).Draw(r, "dir"),
			Log:  hostileName("l").Draw(r, "log"),
		}
		if task.Dir == "" || strings.ContainsRune(".lp", rune(task.Dir[0])) || strings.HasPrefix(task.Dir, "dump") {
			task.Dir = "d" + task.Dir // no folder is called as the log, the program or the dump
		}
		program := filepath.Join(dir, hostileName("p").Draw(r, "program"))
		task.Command = append([]string{program}, rapid.SliceOfN(hostileText(), 0, 6).Draw(r, "args")...)
		task.Env = append(task.Env, dumpFile+"="+filepath.Join(dir, "dump"))
		steps := rapid.Bool().Draw(r, "steps")

		b := &hostileBench{t: t, dir: dir}
		b.make(task, self)
		b.run(task, steps)
		gpu := "0"
		if steps {
			gpu = "by-srun"
		}
		b.compare(task, gpu)
	})
}

func variableName(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	return name
}

type hostileBench struct {
	t   *testing.T
	dir string
}

// make lays out the folder of a run: a program of the task's name, its folder.
func (b *hostileBench) make(task Task, self string) {
	b.t.Helper()
	for _, err := range []error{
		os.Symlink(self, task.Command[0]), os.Mkdir(filepath.Join(b.dir, task.Dir), 0o700),
		os.MkdirAll(filepath.Join(b.dir, "bin"), 0o700), testbed.Program(filepath.Join(b.dir, "bin", "srun"), []byte(stubSrun)),
	} {
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *hostileBench) run(task Task, steps bool) {
	b.t.Helper()
	job, err := Shared([]Set{{Mechanism: profile.TimeSlice, Tasks: []Task{task}}}, nil)
	if steps {
		task.Memory = profile.GiB
		job, err = Steps([]Task{task}, nil)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	script, err := job.Text()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command("bash")
	cmd.Stdin, cmd.Dir = strings.NewReader(script), b.dir
	bin := filepath.Join(b.dir, "bin")
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=0", "STUBS="+b.dir, "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.HasPrefix(out, []byte("colloc: exit 0: ")) {
		log, _ := os.ReadFile(filepath.Join(b.dir, task.Log))
		b.t.Fatalf("%v\n%s\nlog: %s\nscript:\n%s", err, out, log, script)
	}
	if _, err := os.Stat(filepath.Join(b.dir, task.Log)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *hostileBench) compare(task Task, gpu string) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, "dump"))
	if err != nil {
		b.t.Fatal(err)
	}
	var got dump
	if err := json.Unmarshal(text, &got); err != nil {
		b.t.Fatal(err)
	}
	if diff := cmp.Diff(task.Command, bytesToStrings(got.Args)); diff != "" {
		b.t.Fatalf("arguments (-want +got):\n%s", diff)
	}
	if want := filepath.Join(b.dir, task.Dir); string(got.Dir) != want {
		b.t.Fatalf("folder is %q, want %q", got.Dir, want)
	}
	env := bytesToStrings(got.Env)
	for _, want := range append(slices.Clone(task.Env), "CUDA_VISIBLE_DEVICES="+gpu) {
		if !slices.Contains(env, want) {
			b.t.Fatalf("%q is not in the environment:\n%q", want, env)
		}
	}
	for _, pwned := range []string{b.dir, filepath.Join(b.dir, task.Dir)} {
		if _, err := os.Stat(filepath.Join(pwned, "pwned")); err == nil {
			b.t.Fatal("a name was run as a command")
		}
	}
}

func bytesToStrings(list [][]byte) []string {
	s := make([]string, len(list))
	for i, b := range list {
		s[i] = string(b)
	}
	return s
}

func TestHeaderRefuses(t *testing.T) {
	for _, bad := range []string{"a b", "a\nb", "a'b", `a"b`, `a\b`, "a#b", "$HOME", "`x`", "é", "\x00", "\x7f", "a\tb"} {
		for field, r := range map[string]Request{
			"Name": {Name: bad}, "Account": {Account: bad}, "Partition": {Partition: bad}, "QOS": {QOS: bad}, "Reservation": {Reservation: bad},
			"Constraint": {Constraint: bad}, "NodeList": {NodeList: bad}, "Output": {Output: bad}, "Comment": {Comment: bad},
		} {
			_, err := r.Header()
			if want := fmt.Sprintf("slurm: request: %s is %q: ", field, bad); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("Header with %s %q: error is %v, want %s...", field, bad, err, want)
			}
		}
	}
}

// TestUnquote: what bash's printf %q makes of a name is the name again.
func TestUnquote(t *testing.T) {
	for _, name := range append([]string{"lr=0.1 b", "it's", "bell\a\x1b[0m"}, hostile...) {
		out, err := exec.Command("bash", "-c", `printf %q "$1"`, "bash", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := Unquote(string(out)); got != name {
			t.Errorf("%s is read as %q, want %q", out, got, name)
		}
	}
}
