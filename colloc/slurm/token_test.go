package slurm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
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
		got, err := (&REST{Token: tt.token}).token(t.Context(), now)
		if !errors.Is(err, tt.want) || err == nil && got != tt.token {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	s := &tokens{}
	for _, lifespan := range []time.Duration{time.Hour, 0} {
		r := &REST{Tokens: FreshTokens(s, lifespan), Token: "old"}
		before := s.given
		first, err := r.token(t.Context(), time.Now().Add(-time.Minute))
		second, err2 := r.token(t.Context(), time.Now().Add(-time.Minute))
		if err := errors.Join(err, err2); err != nil || first == "old" || lifespan > 0 && first != second {
			t.Errorf("%v, or another token each time", err)
		}
		if want := map[time.Duration]int{time.Hour: 1, 0: 2}[lifespan]; s.given-before != want {
			t.Errorf("lifespan %v: asked %d times, want %d", lifespan, s.given-before, want)
		}
	}
}
