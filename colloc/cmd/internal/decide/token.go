package decide

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"syscall"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/wire"
	"example.com/colloc/internal/owner"
)

// shortest and longest are how long a token may be.
const shortest, longest = 20, 4096

// readToken reads a token that nobody else may read, and makes one where there is none.
func readToken(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		token := rand.Text()
		_, err = file.WriteString(token + "\n")
		return token, errors.Join(err, file.Close())
	}
	if !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if file, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil { // a pipe lets nobody wait
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if uid, known := owner.Of(info); known && int(uid) != os.Geteuid() { // what another one has written others may know
		return "", cli.Usage("-token %s: it is another user's, who knows it; choose another place", path)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return "", cli.Usage("-token %s: others may read it; chmod 600 it", path)
	}
	text, err := io.ReadAll(io.LimitReader(file, longest))
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
