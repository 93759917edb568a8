package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"sync"
	"time"

	"example.com/colloc/internal/procgroup"
)

// Message is what somebody should know.
type Message struct {
	At time.Time `json:"at"`
	// Kind is one word for it, as "finished"; Text says it in a sentence.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Job, Name and User are those of the job, State what it is now; empty if it concerns none.
	Job   string `json:"job,omitempty"`
	Name  string `json:"name,omitempty"`
	User  string `json:"user,omitempty"`
	State string `json:"state,omitempty"`
}

// Send delivers one message until ctx is done.
type Send func(ctx context.Context, m Message) error

// Limits of delivery.
const (
	// Waiting is how many messages wait for delivery at most.
	Waiting = 256
	// WaitingOfOne is how many of them concern jobs of one user, and how many places those of jobs leave to others: a
	// GPU that is lost is told whoever's jobs end by the hundred.
	WaitingOfOne = Waiting / 4
	// Patience is how long one delivery may take.
	Patience = 30 * time.Second
)

// Command returns a Send that runs a program, which gets the message as JSON on its standard
// input. It runs as the user of this process, in its environment: do not let others choose it.
// When its time is over it is killed with all that it started. A program that is not there or
// may not be run is an error.
func Command(argv ...string) (Send, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("notify: no command, want a program and its arguments")
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return nil, fmt.Errorf("notify: no program to run: %w", err)
	}
	return func(ctx context.Context, m Message) error {
		text, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("notify: %w", err)
		}
		c := exec.CommandContext(ctx, argv[0], argv[1:]...)
		procgroup.Own(c)
		c.Cancel = func() error { procgroup.Kill(c); return nil }
		c.WaitDelay = time.Second
		c.Stdin = bytes.NewReader(append(text, '\n'))
		if err := c.Run(); err != nil {
			return fmt.Errorf("notify: %s: %w", argv[0], err)
		}
		return nil
	}, nil
}

// Webhook returns a Send that posts the message as JSON to an address. An answer of 300 or
// more is an error; redirects are not followed.
func Webhook(address string) (Send, error) {
	if r, err := http.NewRequest(http.MethodPost, address, nil); err != nil || r.URL.Host == "" || r.URL.Scheme != "http" && r.URL.Scheme != "https" { //nolint:noctx // it is not sent
		return nil, errors.New("notify: the address of the webhook is none, want https://HOST/PATH")
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return func(ctx context.Context, m Message) error {
		text, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("notify: %w", err)
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
		if err != nil {
			return fmt.Errorf("notify: %w", err)
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(r)
		if err != nil {
			var said *url.Error
			if errors.As(err, &said) {
				err = said.Err // without the address: who knows it may post there
			}
			return fmt.Errorf("notify: webhook: %w", err)
		}
		_, _ = io.CopyN(io.Discard, answer.Body, 1<<16) // so that the connection serves again
		if err := answer.Body.Close(); err != nil {
			return fmt.Errorf("notify: webhook: %w", err)
		}
		if answer.StatusCode >= http.StatusMultipleChoices {
			return fmt.Errorf("notify: webhook: %s", answer.Status)
		}
		return nil
	}, nil
}

// Notifier delivers messages one after the other. It is safe for concurrent use.
type Notifier struct {
	send   Send
	failed func(error)
	stop   context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex // guards what follows
	waiting chan Message
	of      map[string]int // that wait, by user
	closed  bool
	dropped int
}

// New returns a Notifier that delivers with send. Errors go to failed, which may be nil.
// Close it in the end.
func New(send Send, failed func(error)) *Notifier {
	ctx, stop := context.WithCancel(context.Background())
	n := &Notifier{send: send, failed: failed, stop: stop, done: make(chan struct{}), waiting: make(chan Message, Waiting), of: make(map[string]int)}
	go n.deliver(ctx, n.waiting)
	return n
}

// Tell has a message delivered later and returns at once. While [Waiting] of them wait, or [WaitingOfOne] of its user, and
// after Close, it drops the message and returns false.
func (n *Notifier) Tell(m Message) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	room := Waiting - len(n.waiting)
	if m.User != "" {
		room = min(room-WaitingOfOne, WaitingOfOne-n.of[m.User])
	}
	if n.closed || room <= 0 {
		n.dropped++
		return false
	}
	n.of[m.User]++
	n.waiting <- m
	return true
}

// Dropped is how many messages were dropped.
func (n *Notifier) Dropped() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dropped
}

// Close delivers what waits until ctx is done, ends the delivery under way then, and drops
// the rest.
func (n *Notifier) Close(ctx context.Context) {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.waiting)
	}
	n.mu.Unlock()
	select {
	case <-n.done:
	case <-ctx.Done():
	}
	n.stop()
	<-n.done
}

// deliver sends what waits until there is nothing more to come.
func (n *Notifier) deliver(ctx context.Context, waiting <-chan Message) {
	defer close(n.done)
	for m := range waiting {
		over := ctx.Err() != nil
		n.mu.Lock()
		if n.of[m.User]--; n.of[m.User] == 0 {
			delete(n.of, m.User)
		}
		if over {
			n.dropped++
		}
		n.mu.Unlock()
		if over {
			continue
		}
		each, stop := context.WithTimeout(ctx, Patience)
		err := n.send(each, m)
		stop()
		if err != nil && n.failed != nil {
			n.failed(err)
		}
	}
}
