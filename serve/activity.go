package serve

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// activity knows when a client last had a request open. Health checks do not
// count: whoever only asks whether the server lives needs no server.
type activity struct {
	mu   sync.Mutex
	open int
	last time.Time
}

func (a *activity) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open++
}

func (a *activity) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open--
	a.last = time.Now()
}

// wait is how long after now the server can become idle for as long as limit;
// zero: it is.
func (a *activity) wait(now time.Time, limit time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open > 0 {
		return limit
	}
	return max(0, limit-now.Sub(a.last))
}

func counts(method string) bool { return !strings.HasPrefix(method, "/grpc.health.") }

func (a *activity) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if counts(info.FullMethod) {
		a.begin()
		defer a.end()
	}
	return next(ctx, req)
}

func (a *activity) stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if counts(info.FullMethod) {
		a.begin()
		defer a.end()
	}
	return next(srv, s)
}
