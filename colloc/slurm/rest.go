package slurm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/slurm/site"
)

// Token is a secret that slurmrestd knows a user by. It prints as "[token]" with
// every verb of package fmt and in JSON, so that it does not end up in a log.
type Token string

const hiddenToken = "[token]"

// Format hides the token.
func (t Token) Format(s fmt.State, _ rune) { io.WriteString(s, hiddenToken) } //nolint:errcheck // fmt.State keeps the error

// MarshalText hides the token.
func (t Token) MarshalText() ([]byte, error) { return []byte(hiddenToken), nil }

// REST says how to reach slurmrestd.
type REST struct {
	// Address is "unix:/path/to/socket", where the user of the process is who
	// asks, or the URL "https://host:6820", where User and Token say who it is.
	Address string
	// Version is that of the interface, "v0.0.38" to "v0.0.43"; empty means
	// v0.0.38, that of Slurm 22.05.
	Version string
	// User and Token are sent in a header with every request, and only to
	// Address: redirections are not followed. Empty ones are not sent.
	User  string
	Token Token
	// Tokens, if set, is asked for the token of every request, in place of Token, which
	// expires: see [FreshTokens]. A request whose token is refused is sent once more,
	// with the one that Tokens gives then.
	Tokens func(ctx context.Context, refused Token) (Token, error) `json:"-"`
	// Transport makes the connections; nil is one of its own for Address.
	Transport http.RoundTripper
}

const (
	restVersion = "v0.0.38"
	maxAnswer   = 1 << 30 // bytes; 100,000 jobs are about 400 MiB
)

// request writes a request to slurmrestd; path is relative to the version.
func (r *REST) request(ctx context.Context, method, path string, body any, token Token) (*http.Request, error) {
	base, err := url.Parse(r.Address)
	if err != nil {
		return nil, errors.New("slurm: REST: Address is no URL") // the text of err could repeat a password in it
	}
	if base.Scheme == "unix" {
		base = &url.URL{Scheme: "http", Host: "localhost"}
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, errors.New(`slurm: REST: Address must be "unix:/path" or a URL of http or https`)
	}
	base = base.JoinPath("slurm", cmp.Or(r.Version, restVersion), path)
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("slurm: REST: %w", err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, base.String(), content)
	if err != nil {
		return nil, errors.New("slurm: REST: Address or Version cannot be part of a URL")
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.User != "" {
		req.Header.Set("X-SLURM-USER-NAME", r.User)
	}
	if token != "" {
		if ip := net.ParseIP(base.Hostname()); base.Scheme == "http" && base.Hostname() != "localhost" && !ip.IsLoopback() {
			return nil, fmt.Errorf("slurm: REST: %s: a token must not travel unencrypted: use https", base.Host)
		}
		req.Header.Set("X-SLURM-USER-TOKEN", string(token))
	}
	return req, nil
}

// transport returns how to connect to Address.
func (r *REST) transport() http.RoundTripper {
	if r.Transport != nil {
		return r.Transport
	}
	t := &http.Transport{Proxy: nil, DisableKeepAlives: true}
	if socket, ok := strings.CutPrefix(r.Address, "unix:"); ok {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", strings.TrimPrefix(socket, "//"))
		}
	}
	return t
}

// ask sends one request, twice if its token is refused and another can be had, and
// returns the body of the answer.
func (r *REST) ask(ctx context.Context, timeout time.Duration, method, path string, body any) ([]byte, error) {
	token, err := r.token(ctx, time.Now(), "") //nolint:forbidigo // a token ends by the wall clock
	if err != nil {
		return nil, err
	}
	text, err := r.askWith(ctx, timeout, method, path, body, token)
	var refused *site.Error
	if r.Tokens == nil || !errors.As(err, &refused) || refused.Code != http.StatusUnauthorized {
		return text, err
	}
	fresh, err := r.token(ctx, time.Now(), token) //nolint:forbidigo // as above
	if err != nil || fresh == token {
		return nil, errors.Join(refused, err)
	}
	return r.askWith(ctx, timeout, method, path, body, fresh)
}

// askWith sends one request with a token, which is hidden in the answer should the server
// repeat it.
func (r *REST) askWith(ctx context.Context, timeout time.Duration, method, path string, body any, token Token) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := r.request(ctx, method, path, body, token)
	if err != nil {
		return nil, err
	}
	name := "slurmrestd " + method + " " + path
	client := http.Client{
		Transport:     r.transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(req)
	if err != nil {
		e := unreachable(Command{}, err)
		e.Command = name
		return nil, e
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		e := unreachable(Command{}, err)
		e.Command = name
		return nil, e
	}
	if token != "" {
		text = bytes.ReplaceAll(text, []byte(token), []byte(hiddenToken))
	}
	if answer.StatusCode == http.StatusOK {
		return text, nil
	}
	return nil, failure(name, answer.StatusCode, text)
}

// failure makes the Error of an answer that is no success.
func failure(name string, status int, text []byte) *site.Error {
	said := site.ParseFailure(text)
	kind := site.KindOf(said)
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = site.ErrPermission
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		kind = site.ErrNoCluster
	}
	return &site.Error{Kind: kind, Command: name, Said: said, Code: status}
}

func restRead[T any](ctx context.Context, r *REST, timeout time.Duration, path string, parse func([]byte) (T, error)) (T, error) {
	text, err := r.ask(ctx, timeout, http.MethodGet, path, nil)
	var parsed T
	if err == nil {
		parsed, err = parse(text)
		err = during("slurmrestd "+http.MethodGet+" "+path, err)
	}
	return parsed, err
}

func (r *REST) cancel(ctx context.Context, timeout time.Duration, ids []site.JobID) error {
	for _, id := range ids {
		_, err := r.ask(ctx, timeout, http.MethodDelete, "job/"+strconv.FormatInt(int64(id), 10), nil)
		if err != nil && !errors.Is(err, site.ErrNoJob) {
			return err
		}
	}
	return nil
}
