package slurm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/colloc/colloc/slurm/site"
)

// Expires returns when the token ends, as it says itself; false for one that does not
// say, or is no JSON web token.
func (t Token) Expires() (time.Time, bool) {
	parts := strings.Split(string(t), ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil || !(claims.Expires > 0 && claims.Expires < 1e11) {
		return time.Time{}, false
	}
	return time.Unix(int64(claims.Expires), 0), true
}

// FreshTokens returns a source for [REST].Tokens: it asks "scontrol token" for one that
// holds for lifespan, and for another when less than a tenth of that is left or when it
// was refused. A nil runner is [Exec]. It is safe for concurrent use.
func FreshTokens(runner Runner, lifespan time.Duration) func(ctx context.Context, refused Token) (Token, error) {
	if runner == nil {
		runner = Exec{}
	}
	client := NewClient(Config{Runner: runner})
	var mu sync.Mutex
	var last Token
	return func(ctx context.Context, refused Token) (Token, error) {
		mu.Lock()
		defer mu.Unlock()
		if end, ok := last.Expires(); ok && last != refused && time.Until(end) > lifespan/10 { //nolint:forbidigo // a token ends by the wall clock
			return last, nil
		}
		cmd := Command{Args: []string{"scontrol", "token", "lifespan=" + strconv.FormatInt(int64(lifespan/time.Second), 10)}}
		out, err := client.run(ctx, cmd)
		if err != nil {
			return "", err
		}
		_, token, ok := strings.Cut(strings.TrimSpace(string(out.Stdout)), "SLURM_JWT=")
		if !ok || token == "" {
			return "", site.Unreadable(cmd.String(), errors.New("it has no SLURM_JWT="))
		}
		last = Token(token)
		return last, nil
	}
}

// token returns what a request to slurmrestd is sent with, after one that was refused,
// or "". One that has expired is
// [site.ErrPermission]: slurmrestd itself says nothing that could be told from a
// controller that is down.
func (r *REST) token(ctx context.Context, now time.Time, refused Token) (Token, error) {
	token := r.Token
	if r.Tokens != nil {
		var err error
		if token, err = r.Tokens(ctx, refused); err != nil {
			return "", err
		}
	}
	if end, ok := token.Expires(); ok && !now.Before(end) {
		return "", &site.Error{
			Kind: site.ErrPermission, Command: "slurmrestd", Code: http.StatusUnauthorized,
			Said: fmt.Sprintf("the token expired at %s: \"scontrol token\" gives another, and REST.Tokens asks for it", end.UTC().Format(time.RFC3339)),
		}
	}
	return token, nil
}
