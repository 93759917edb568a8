package decide

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/wire"
	"example.com/colloc/internal/filelock"
	"example.com/colloc/internal/regular"
)

// shortest and longest are how long a token may be.
const shortest, longest = 20, 4096

// readToken reads a token that nobody else may read, and makes one where there is none.
func readToken(path string) (string, error) {
	file, err := regular.OpenOf(uint32(os.Geteuid()), path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // a number of a user
	switch {
	case errors.Is(err, fs.ErrInvalid): // what another one has written others may know
		return "", cli.Usage("-token: %w; choose another place", err)
	case err != nil:
		return "", err
	}
	defer func() { _ = file.Close() }()                                                   // what was written is on its way
	if err := filelock.Wait(file); err != nil && !errors.Is(err, errors.ErrUnsupported) { // another one makes it just now
		return "", err
	}
	if info, err := file.Stat(); err != nil || info.Mode().Perm()&0o077 != 0 {
		return "", cmp.Or(err, cli.Usage("-token %s: others may read it; chmod 600 it", path))
	}
	text, err := io.ReadAll(io.LimitReader(file, longest))
	if err == nil && len(text) == 0 { // who made it may have been killed
		text = []byte(rand.Text() + "\n")
		_, err = file.Write(text)
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < shortest {
		return "", cli.Usage("-token %s: it has %d characters; want %d or more, or delete it and one is made", path, len(token), shortest)
	}
	return token, nil
}

// guarded answers who sends the token.
func guarded(token string, h http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			wire.Refuse(w, wire.Errorf(wire.Forbidden, "Authorization", "send the header Authorization: Bearer TOKEN", "the token is not that of the file of -token"))
			return
		}
		h.ServeHTTP(w, r)
	})
}
