package decisions

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/slurm/files"
)

// parser is the command's; nobody reads its help.
func parser(f *flag.FlagSet, args []string, operands, about string) error {
	return cli.ParsePart(f, args, io.Discard, "slurm", operands, about)
}

// TestDecide: a decision is for its user, for minutes, and for the site as it was.
func TestDecide(t *testing.T) {
	dir := t.TempDir()
	made := time.Now()
	file, conf := filepath.Join(dir, "decisions.json"), filepath.Join(dir, "slurm.conf")
	all := File{Made: made, UID: 7, Tasks: map[string]Decision{"s:a b": {Node: "n", Gres: "shard:1"}}}
	if err := errors.Join(files.WriteJSON(file, all), os.WriteFile(conf, nil, 0o644), os.Chtimes(conf, made, made.Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
	const yes = "node=n gres=shard:1\n"
	for _, tt := range []struct {
		name  string
		args  []string
		later time.Duration
		conf  time.Duration // when the configuration was changed last, after the decision
		want  string
	}{
		{"of this user", []string{"s:a+b", "7"}, time.Minute, -time.Hour, yes},
		{"of anybody", []string{"s:a b"}, time.Minute, -time.Hour, yes},
		{"of another user", []string{"s:a+b", "8"}, time.Minute, -time.Hour, ""},
		{"of another sweep", []string{"t:a+b", "7"}, time.Minute, -time.Hour, ""},
		{"too old", []string{"s:a+b", "7"}, time.Hour, -time.Hour, ""},
		{"of the future", []string{"s:a+b", "7"}, -time.Hour, -2 * time.Hour, ""},
		{"the site changed", []string{"s:a+b", "7"}, 2 * time.Minute, time.Minute, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.Chtimes(conf, made, made.Add(tt.conf)); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			args := append([]string{"-decisions", file, "-conf", conf}, tt.args...)
			if err := Decide(parser, args, made.Add(tt.later), &out); err != nil || out.String() != tt.want {
				t.Errorf("%v, it says %q, want %q", err, out.String(), tt.want)
			}
		})
	}
}

// TestFolder: in a folder each user has a file, and one that somebody else wrote, or a
// link, does not count.
func TestFolder(t *testing.T) {
	if err := Decide(parser, []string{"s:a"}, time.Now(), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "-decisions names no file") {
		t.Errorf("without -decisions: %v", err)
	}
	dir := t.TempDir()
	me := strconv.Itoa(os.Getuid())
	ask := func(uid ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := Decide(parser, append([]string{"-decisions", dir, "-conf", filepath.Join(dir, "none"), "s:a"}, uid...), time.Now(), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	all := &File{Made: time.Now(), UID: os.Getuid(), Tasks: map[string]Decision{"s:a": {Node: "n", Gres: "gpu:1"}}}
	if got := ask(me); got != "" {
		t.Errorf("nobody decided: %q", got)
	}
	if err := all.Write(dir); err != nil {
		t.Fatal(err)
	}
	if got := ask(me); got != "node=n gres=gpu:1\n" {
		t.Errorf("its own: %q", got)
	}
	if got := ask() + ask("../"+me) + ask(me+"1"); got != "" {
		t.Errorf("without a user, of a path, of another: %q", got)
	}
	all.UID++ // somebody writes for another user
	if err := all.Write(dir); err != nil {
		t.Fatal(err)
	}
	if got := ask(strconv.Itoa(all.UID)); got != "" {
		t.Errorf("forged: %q", got)
	}
	mine := filepath.Join(dir, me+".json")
	if err := errors.Join(os.Rename(mine, mine+".old"), os.Symlink(mine+".old", mine)); err != nil {
		t.Fatal(err)
	}
	if got := ask(me); got != "" {
		t.Errorf("a link: %q", got)
	}
	if err := errors.Join(os.Remove(mine), syscall.Mkfifo(mine, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := ask(me); got != "" {
		t.Errorf("a pipe: %q", got)
	}
	for _, uid := range []string{"", me} { // a file of one's own, and one in a folder
		if all, err := read(mine, uid); all != nil || !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("a pipe in place of a file: %v, %v", all, err)
		}
	}
}

// TestLarge: a file beyond all decisions holds nobody up.
func TestLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	if err := files.WriteJSON(path, File{Made: time.Now(), Tasks: map[string]Decision{"s:a": {Node: "n", Gres: "gpu:1"}}}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]bool{maxFile: true, maxFile + 1: false} {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		blanks := bytes.Repeat([]byte(" "), int(size-info.Size()))
		if _, err := file.WriteAt(blanks, info.Size()); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if all, err := read(path, ""); (all != nil) != want || (err == nil) != want {
			t.Errorf("%d bytes: %v, %v", size, all, err)
		}
		if err := os.Truncate(path, info.Size()); err != nil {
			t.Fatal(err)
		}
	}
}
