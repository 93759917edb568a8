package slurm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/slurm/site"
)

func jwt(end time.Time) Token {
	return Token("e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp": %d, "sun": "me"}`, end.Unix())) + ".x")
}

// scontrol gives tokens that hold for as long as is asked.
type tokens struct{ given int }

func (s *tokens) Run(_ context.Context, c Command) (Output, error) {
	var seconds int
	if _, err := fmt.Sscanf(c.String(), "scontrol token lifespan=%d", &seconds); err != nil {
		return Output{Code: 1}, nil //nolint:nilerr // the command fails
	}
	s.given++
	return Output{Stdout: fmt.Appendf(nil, "SLURM_JWT=%s\n", []byte(jwt(time.Now().Add(time.Duration(seconds)*time.Second))))}, nil
}

// A token that has expired is no cluster that is down, and one that is asked for anew
// holds.
func TestToken(t *testing.T) {
	now := time.Unix(1e9, 0)
	for _, tt := range []struct {
		name  string
		token Token
		want  error
	}{
		{"holds", jwt(now.Add(time.Second)), nil},
		{"expired", jwt(now), site.ErrPermission},
		{"not a token that says", "secret", nil},
		{"none", "", nil},
		{"broken", "a.b!.c", nil},
		{"of no time", "e30.e30.x", nil},
	} {
		got, err := (&REST{Token: tt.token}).token(t.Context(), now, "")
		if !errors.Is(err, tt.want) || err == nil && got != tt.token {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	s := &tokens{}
	for _, lifespan := range []time.Duration{time.Hour, 0} {
		r := &REST{Tokens: FreshTokens(s, lifespan), Token: "old"}
		before := s.given
		first, err := r.token(t.Context(), time.Now().Add(-time.Minute), "")
		second, err2 := r.token(t.Context(), time.Now().Add(-time.Minute), "")
		if err := errors.Join(err, err2); err != nil || first == "old" || lifespan > 0 && first != second {
			t.Errorf("%v, or another token each time", err)
		}
		if want := map[time.Duration]int{time.Hour: 1, 0: 2}[lifespan]; s.given-before != want {
			t.Errorf("lifespan %v: asked %d times, want %d", lifespan, s.given-before, want)
		}
	}
}

// A token that slurmrestd refuses is renewed once, and what it says then is the answer.
func TestTokenRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		takes  string // what the server takes
		tokens []Token
		asked  int // requests
		want   error
	}{
		{"holds", "one", []Token{"one"}, 1, nil},
		{"renewed", "two", []Token{"one", "two"}, 2, nil},
		{"refused again", "three", []Token{"one", "two", "three"}, 2, site.ErrPermission},
		{"no other", "two", []Token{"one", "one"}, 1, site.ErrPermission},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked, given := 0, 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				token := r.Header.Get("X-SLURM-USER-TOKEN")
				if token != tt.takes {
					w.WriteHeader(http.StatusUnauthorized)
				}
				_, _ = fmt.Fprintf(w, `{"jobs": [], "errors": [%s]}`, map[bool]string{false: fmt.Sprintf(`{"error": "Authentication failure of %s"}`, token)}[token == tt.takes])
			}))
			defer server.Close()
			source := func(_ context.Context, refused Token) (Token, error) {
				if given > 0 && refused != tt.tokens[given-1] {
					t.Errorf("%d tokens were given, and it is told that %q was refused", given, string(refused))
				}
				given++
				return tt.tokens[given-1], nil
			}
			_, err := NewClient(Config{REST: &REST{Address: server.URL, Tokens: source}}).Jobs(t.Context())
			if !errors.Is(err, tt.want) || asked != tt.asked {
				t.Errorf("%v after %d requests, want %v after %d", err, asked, tt.want, tt.asked)
			}
			if err != nil && (strings.Contains(err.Error(), "of one") || strings.Contains(err.Error(), "of two")) {
				t.Errorf("the token is in %v", err)
			}
		})
	}
	fresh := FreshTokens(&tokens{}, time.Hour)
	first, err := fresh(t.Context(), "")
	same, err2 := fresh(t.Context(), "other")
	if err := errors.Join(err, err2); err != nil || first != same {
		t.Errorf("%v, or a token that holds was not kept", err)
	}
	s := &tokens{}
	fresh = FreshTokens(s, time.Hour)
	if first, err = fresh(t.Context(), ""); err == nil {
		_, err = fresh(t.Context(), first)
	}
	if err != nil || s.given != 2 {
		t.Errorf("%v; scontrol was asked %d times after one token was refused, want 2", err, s.given)
	}
}

// A token goes to this machine, or encrypted, or not at all.
func TestTokenEncrypted(t *testing.T) {
	for address, want := range map[string]bool{"http://cluster:6820": false, "http://10.0.0.1:6820": false, "https://cluster:6820": true, "http://127.0.0.1:6820": true, "http://localhost:6820": true, "http://[::1]:6820": true, "unix:/run/slurmrestd": true} {
		r := &REST{Address: address}
		if _, err := r.request(t.Context(), http.MethodGet, "jobs", nil, "token"); (err == nil) != want {
			t.Errorf("%s: %v, want it to be sent: %v", address, err, want)
		}
		if _, err := r.request(t.Context(), http.MethodGet, "jobs", nil, ""); err != nil {
			t.Errorf("%s without a token: %v", address, err)
		}
	}
}
