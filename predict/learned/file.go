package learned

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pace"
)

// header is the first line of a file. The sections follow as they are, one after the
// other: a reader of one need not scan the others.
type header struct {
	Format   string    `json:"format"`
	Version  int       `json:"version"`
	Sections []section `json:"sections"`
}

type section struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

const (
	format  = "colloc learned"
	version = 1
	// maxHeader bounds the first line, maxSection what one section may be.
	maxHeader  = 4 << 10
	maxSection = 1 << 30
)

// errIncomplete is for models of which some are nil.
var errIncomplete = errors.New("learned: Models with a nil predictor, want all three")

// Save writes the models. The same models give the same bytes, and a loaded model
// gives those of the saved one. What one predictor learns meanwhile is in it or not.
func (m Models) Save(w io.Writer) error {
	if m.Memory == nil || m.Interference == nil || m.Pace == nil {
		return errIncomplete
	}
	h := header{Format: format, Version: version}
	var parts []bytes.Buffer
	for _, s := range []struct {
		name string
		save func(io.Writer) error
	}{{"memory", m.Memory.Save}, {"interference", m.Interference.Archive}, {"pace", m.Pace.Save}} {
		var b bytes.Buffer
		if err := s.save(&b); err != nil {
			return fmt.Errorf("learned: save: %w", err)
		}
		h.Sections, parts = append(h.Sections, section{s.name, int64(b.Len())}), append(parts, b)
	}
	first, err := json.Marshal(h)
	if err == nil {
		_, err = w.Write(append(first, '\n'))
	}
	for i := range parts {
		if err == nil {
			_, err = parts[i].WriteTo(w)
		}
	}
	if err != nil {
		return fmt.Errorf("learned: save: %w", err)
	}
	return nil
}

// Load reads what Save wrote, up to its end. It returns an error for another format or
// version, for a file that was cut short or goes on, and for contents that no learning
// can have produced; it never returns half of what was saved.
func Load(r io.Reader) (Models, error) {
	m, err := load(bufio.NewReaderSize(r, maxHeader))
	if err != nil {
		return Models{}, fmt.Errorf("learned: load: %w", err)
	}
	return m, nil
}

func load(in *bufio.Reader) (m Models, err error) {
	var h header
	line, err := in.ReadSlice('\n')
	if err != nil {
		return m, fmt.Errorf("first line: %w; is this a file of learned models?", err)
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return m, fmt.Errorf("first line: %w; is this a file of learned models?", err)
	}
	if h.Format != format || h.Version != version {
		return m, fmt.Errorf("format %q, version %d; want %q, %d", h.Format, h.Version, format, version)
	}
	for _, s := range h.Sections {
		if s.Bytes < 1 || s.Bytes > maxSection {
			return m, fmt.Errorf("section %q of %d bytes, want 1 to %d", s.Name, s.Bytes, maxSection)
		}
		part := &io.LimitedReader{R: in, N: s.Bytes}
		switch {
		case s.Name == "memory" && m.Memory == nil:
			m.Memory, err = memory.Load(part)
		case s.Name == "interference" && m.Interference == nil:
			m.Interference, err = interference.Load(part)
		case s.Name == "pace" && m.Pace == nil:
			m.Pace, err = pace.Load(part)
		default:
			err = errors.New("unknown or twice")
		}
		if err == nil {
			_, err = io.Copy(io.Discard, part)
		}
		if err == nil && part.N > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return m, fmt.Errorf("section %q: %w", s.Name, err)
		}
	}
	if m.Memory == nil || m.Interference == nil || m.Pace == nil {
		return m, errIncomplete
	}
	switch _, err := in.ReadByte(); {
	case err == nil:
		return m, errors.New("the file goes on after its last section")
	case !errors.Is(err, io.EOF):
		return m, err
	}
	return m, nil
}
