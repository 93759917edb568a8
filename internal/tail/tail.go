package tail

import (
	"bytes"
	"sync"
)

// DefaultSize is how much a Buffer keeps, in bytes, if nothing else is said.
const DefaultSize = 4 << 10

// Buffer is an io.Writer that keeps the last bytes written to it. The zero
// Buffer is ready to use. It is safe for concurrent use.
type Buffer struct {
	// Size is how many bytes are kept; 0 means DefaultSize. It must not change
	// after the first Write.
	Size int

	mu   sync.Mutex
	text []byte
}

// Write keeps the end of p; it never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	size := b.Size
	if size <= 0 {
		size = DefaultSize
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	b.text = b.text[max(0, len(b.text)-size):]
	return len(p), nil
}

// Quoted returns ": " and what is kept, without space around it and without
// bytes that are no UTF-8; nothing if there is none. It is made to be appended
// to an error's text.
func (b *Buffer) Quoted() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if text := bytes.TrimSpace(b.text); len(text) > 0 {
		return ": " + string(bytes.ToValidUTF8(text, nil))
	}
	return ""
}
