package tail_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.com/colloc/internal/tail"
)

func TestBuffer(t *testing.T) {
	tests := []struct {
		name   string
		size   int
		writes []string
		want   string
	}{
		{name: "nothing"},
		{name: "space", writes: []string{" \n"}},
		{name: "short", writes: []string{"no ", "GPU\n"}, want: ": no GPU"},
		{name: "long", size: 4, writes: []string{"abc", "defgh"}, want: ": efgh"},
		{name: "one byte", size: 1, writes: []string{"ab"}, want: ": b"},
		{name: "a letter cut", size: 2, writes: []string{"éa"}, want: ": a"},
		{name: "default size", writes: []string{strings.Repeat("x", 2*tail.DefaultSize)}, want: ": " + strings.Repeat("x", tail.DefaultSize)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &tail.Buffer{Size: tt.size}
			for _, s := range tt.writes {
				if n, err := b.Write([]byte(s)); n != len(s) || err != nil {
					t.Errorf("Write(%q) = %d, %v", s, n, err)
				}
			}
			if got := b.Quoted(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestBufferConcurrently(t *testing.T) {
	var b tail.Buffer
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 100 {
				_, _ = b.Write([]byte("x"))
				_ = b.Quoted()
			}
		})
	}
	wait.Wait()
	if got := len(b.Quoted()); got != len(": ")+400 {
		t.Errorf("%d bytes, want 402", got)
	}
}

func ExampleBuffer() {
	var b tail.Buffer
	_, _ = fmt.Fprintln(&b, "no module named torch")
	fmt.Println("the program ended" + b.Quoted())
	// Output:
	// the program ended: no module named torch
}
