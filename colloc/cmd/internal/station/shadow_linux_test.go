package station

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/shadow/follow"
)

// TestShadow: looking on survives kill -9 and a torn line.
func TestShadow(t *testing.T) {
	l := &lab{t: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(l.dir, "gpus.json"), []byte(`{"gpus": [{"name": "A100-40GB", "foreign": "3GiB"}, {"name": "A100-40GB"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(l.dir, "shadow.jsonl")
	rounds := func() int {
		text, err := os.ReadFile(journal)
		if err != nil {
			return 0
		}
		return bytes.Count(text, []byte("\n")) - 1
	}
	begin := func() {
		l.daemon = l.command("shadow", "-journal", journal, "-fake-gpus", filepath.Join(l.dir, "gpus.json"), "-interval", "20ms")
		l.daemon.Stderr = os.Stderr
		if err := l.daemon.Start(); err != nil {
			t.Fatal(err)
		}
	}
	begin()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for rounds() < 5 { // the test's own time limit is its reason to end
		<-tick.C
	}
	_ = l.kill(syscall.SIGKILL)
	before := rounds()
	f, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"at":"20`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := l.say(0, "shadow", "-journal", journal, "-report"); !strings.Contains(got, "1 lines cannot be read") {
		t.Errorf("a torn line is not said: %s", got)
	}
	begin()
	for rounds() < before+5 {
		<-tick.C
	}
	if got := l.say(1, "shadow", "-journal", journal, "-fake-gpus", filepath.Join(l.dir, "gpus.json"), "-n", "1"); !strings.Contains(got, "another process writes") {
		t.Errorf("a second one: %s", got)
	}
	if err := l.kill(syscall.SIGTERM); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	var s follow.Summary
	if err := json.Unmarshal([]byte(l.say(0, "shadow", "-journal", journal, "-report", "-json")), &s); err != nil {
		t.Fatal(err)
	}
	if s.Rounds < before+5 || s.Damage.Lines != 0 {
		t.Errorf("%d rounds, %+v; want %d or more, all whole", s.Rounds, s.Damage, before+5)
	}
}
