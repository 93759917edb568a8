package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Serve answers on l until stop is called, which lets answers that are on their way arrive for a second and says what went
// wrong. told adds to the context of each connection; ended is called when nothing is answered any more, whatever the
// reason. Either may be nil.
func Serve(l net.Listener, h http.Handler, told func(context.Context, net.Conn) context.Context, ended func()) (stop func() error) {
	server := &http.Server{
		Handler: h, ConnContext: told, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16,
	}
	done := make(chan error, 1)
	go func() {
		err := server.Serve(l)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		if ended != nil {
			ended()
		}
		done <- err
	}()
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := server.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		return errors.Join(err, <-done)
	}
}
