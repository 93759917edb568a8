package screen

import (
	"bytes"

	"example.com/colloc/colloc/runner"
	text "example.com/colloc/internal/plain"
	"example.com/colloc/internal/regular"
)

// Follower passes on what the tasks print, in whole lines.
type Follower struct {
	show Display
	at   map[string]*followed // by file
}

// NewFollower returns one that passes lines on to show.
func NewFollower(show Display) *Follower {
	return &Follower{show: show, at: make(map[string]*followed)}
}

// followed is one file and how far it was read.
type followed struct {
	offset int64
	rest   []byte // of a line that is not whole yet
	ended  bool
}

// maxRest is how much of a line is kept; a longer one is passed on in parts.
const maxRest = 64 << 10

// Look reads what was added to the outputs since the last look.
func (f *Follower) Look(records []runner.Record) {
	for i := range records {
		r := &records[i]
		if r.Log == "" {
			continue
		}
		p := f.at[r.Log]
		if p == nil {
			p = &followed{}
			f.at[r.Log] = p
		}
		if !p.ended {
			f.read(r, p)
		}
	}
}

// read reads one file on.
func (f *Follower) read(r *runner.Record, p *followed) {
	over := r.State.Over() // before reading, so that nothing is missed
	file, _, err := regular.Open(r.Log)
	if err != nil {
		p.ended = over
		return
	}
	defer file.Close()
	buffer := make([]byte, maxRest)
	for {
		n, err := file.ReadAt(buffer, p.offset)
		p.offset += int64(n)
		p.rest = append(p.rest, buffer[:n]...)
		f.lines(r.Task.ID, p)
		if err != nil { // io.EOF, or what comes again at the next look
			break
		}
	}
	if over {
		if len(p.rest) > 0 {
			f.show.Line(r.Task.ID, safe(p.rest))
		}
		p.rest, p.ended = nil, true
	}
}

// safe makes a line of a task one that a terminal obeys in nothing.
func safe(line []byte) string { return text.Text(string(line)) }

// lines passes on the whole lines.
func (f *Follower) lines(task string, p *followed) {
	for {
		n := bytes.IndexAny(p.rest, "\r\n")
		if n < 0 && len(p.rest) < maxRest {
			return
		}
		if n < 0 {
			n = len(p.rest) - 1
			f.show.Line(task, safe(p.rest))
		} else if n > 0 {
			f.show.Line(task, safe(p.rest[:n]))
		}
		p.rest = p.rest[n+1:]
	}
}
