package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/serve"
	"github.com/aether-ooc/aether-ooc/serve/client"
)

// ServeConfig says what to serve, and to whom.
type ServeConfig struct {
	Graph   string
	Options engine.Options
	Request engine.Request // of all clients together; each takes a rank
	Clients int
	Batches int64         // measured, of all clients together
	Ramp    int64         // before
	Runtime time.Duration // no more is measured after so long; 0: until all batches are there
	Accept  func(engine.Info) error
}

// runServe starts a server on a unix socket of its own, and clients in this process
// that take batches from it as fast as they can. When ctx ends early the result
// holds what was measured until then.
func runServe(ctx context.Context, c ServeConfig, e env) (res *ServeResult, err error) {
	eng, err := engine.Open(c.Graph, c.Options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	e.opened(eng.Info())
	if c.Accept != nil {
		if err := c.Accept(eng.Info()); err != nil {
			return nil, err
		}
	}
	run := &serveRun{config: c, env: e, engine: eng}
	if err := run.withServer(ctx); err != nil && ctx.Err() == nil {
		return nil, err
	}
	return run.result(ctx.Err() != nil), nil
}

// serveRun is one run under way.
type serveRun struct {
	config  ServeConfig
	env     env
	engine  *engine.Engine
	clients []*serveClient

	wanted   int64        // batches of this phase and those before
	begun    atomic.Int64 // batches that clients have taken or are about to
	got      atomic.Int64
	deadline time.Time // zero: none
	from, to serveSnapshot
	series   []Point
}

// serveSnapshot is all counters at one moment when the clients rest.
type serveSnapshot struct {
	usage
	engine engine.Stats
	server serve.Counters
	bytes  int64 // of the records that the clients got
}

// serveClient is one connection with a rank of its own.
type serveClient struct {
	*client.Client
	ticket serve.Ticket
	lat    *hdrhistogram.Histogram
	bytes  atomic.Int64
}

// withServer serves for as long as the clients want batches.
func (r *serveRun) withServer(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "aether-ooc-bench-*")
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer os.RemoveAll(dir)
	ready, ended := make(chan struct{}), make(chan error, 1)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	listen := "unix://" + filepath.Join(dir, "s")
	go func() {
		_, err := serve.Run(serving, serve.Config{Engine: r.engine, Listen: listen, Log: onlyWarnings(r.config.Options.Log), Ready: func() { close(ready) }})
		ended <- err
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	select {
	case <-ready:
	case err := <-ended:
		ended <- nil
		return err
	}
	return r.withClients(ctx, listen)
}

func (r *serveRun) withClients(ctx context.Context, listen string) (err error) {
	defer func() {
		for _, c := range r.clients {
			err = errors.Join(err, c.Close())
		}
	}()
	for i := range r.config.Clients {
		c, err := client.Dial(listen)
		if err != nil {
			return err
		}
		r.clients = append(r.clients, &serveClient{Client: c, lat: newHistogram(), ticket: ticketOf(r.config.Request, i, r.config.Clients)})
	}
	if err := r.upload(ctx); err != nil {
		return err
	}
	return r.phases(ctx)
}

// ticketOf asks for a client's share.
func ticketOf(q engine.Request, rank, clients int) serve.Ticket {
	t := serve.NewTicket(q.Fanouts...)
	t.BatchSize, t.Replace, t.EdgeIDs, t.Features = q.BatchSize, q.Replace, q.EdgeIDs, q.Features
	t.Seed, t.Epoch, t.Shuffle, t.DropLast = q.Seed, q.Epoch, q.Shuffle, q.DropLast
	t.Rank, t.WorldSize, t.NodeAttrs = rank, clients, []string{}
	return t
}

// upload gives the server the list of seeds, where there is one.
func (r *serveRun) upload(ctx context.Context) error {
	if r.config.Request.Nodes == nil {
		return nil
	}
	nodes, err := r.clients[0].Upload(ctx, r.config.Request.Nodes)
	for _, c := range r.clients {
		c.ticket.Nodes = nodes
	}
	return err
}

// phases are the ramp and the measured part.
func (r *serveRun) phases(ctx context.Context) error {
	err := r.phase(ctx, r.config.Ramp)
	for _, c := range r.clients {
		c.lat.Reset()
	}
	r.from = r.take(ctx)
	m := watch(r.env, "batches", 0, r.got.Load)
	if err == nil {
		if r.config.Runtime > 0 {
			r.deadline = time.Now().Add(r.config.Runtime)
		}
		err = r.phase(ctx, r.config.Ramp+r.config.Batches)
	}
	r.to, r.series = r.take(ctx), m.stop()
	return err
}

func (r *serveRun) take(ctx context.Context) serveSnapshot {
	s := serveSnapshot{usage: takeUsage(), engine: r.engine.Stats()}
	for _, c := range r.clients {
		s.bytes += c.bytes.Load()
	}
	if stats, err := r.clients[0].Stats(context.WithoutCancel(ctx)); err == nil {
		s.server = stats.Server
	}
	return s
}

// phase lets all clients take batches until there are n in all.
func (r *serveRun) phase(ctx context.Context, n int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.wanted = n
	var wg sync.WaitGroup
	errs := make([]error, len(r.clients))
	for i, c := range r.clients {
		wg.Go(func() {
			if errs[i] = r.consume(ctx, c); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// enough: no client should take a further batch.
func (r *serveRun) enough() bool {
	if !r.deadline.IsZero() && time.Now().After(r.deadline) {
		return true
	}
	if r.begun.Add(1) > r.wanted {
		r.begun.Add(-1)
		return true
	}
	return false
}

// consume takes batches, epoch after epoch.
func (r *serveRun) consume(ctx context.Context, c *serveClient) error {
	for ; ; c.ticket.Epoch++ {
		took, err := r.epoch(ctx, c)
		switch {
		case err != nil:
			return err
		case took < 0:
			return nil
		case took == 0:
			return errors.New("bench: an epoch without a batch for each client: take fewer clients or smaller batches")
		}
	}
}

// epoch takes a client's batches of one epoch, and gives how many, or -1 when
// there were enough.
func (r *serveRun) epoch(ctx context.Context, c *serveClient) (took int, err error) {
	if r.enough() {
		return -1, nil
	}
	asked := time.Now()
	for rec, err := range c.Batches(ctx, c.ticket) {
		if err != nil {
			return took, err
		}
		now := time.Now()
		record(c.lat, now.Sub(asked))
		for i := range int(rec.NumCols()) {
			for _, b := range rec.Column(i).Data().Children() {
				c.bytes.Add(int64(b.SizeInBytes()))
			}
		}
		took++
		r.got.Add(1)
		if r.enough() {
			return -1, nil
		}
		asked = time.Now()
	}
	r.begun.Add(-1) // the batch that the epoch had no more
	return took, nil
}

// warnings passes on what is at least a warning.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

func onlyWarnings(log *slog.Logger) *slog.Logger {
	if log == nil {
		log = slog.Default()
	}
	return slog.New(warnings{log.Handler()})
}
