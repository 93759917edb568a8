package peer

import (
	"context"
	"net"
)

type key struct{}

// Context keeps who is at the other end of a connection, for [From]. It has the form of
// http.Server's ConnContext.
func Context(ctx context.Context, c net.Conn) context.Context {
	if counted, ok := c.(*conn); ok {
		return context.WithValue(ctx, key{}, counted.user)
	}
	u, err := Of(c)
	if err != nil {
		return ctx // From then knows nobody
	}
	return context.WithValue(ctx, key{}, u)
}

// With says who sends a request, where no socket tells.
func With(ctx context.Context, u User) context.Context { return context.WithValue(ctx, key{}, u) }

// From returns who sends a request; false if nobody knows.
func From(ctx context.Context) (User, bool) {
	u, ok := ctx.Value(key{}).(User)
	return u, ok
}
