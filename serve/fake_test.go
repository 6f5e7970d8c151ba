package serve_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"go.uber.org/goleak"

	"github.com/aether-ooc/aether-ooc/arrowbatch"
	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/sampler"
	"github.com/aether-ooc/aether-ooc/serve"
	"github.com/aether-ooc/aether-ooc/serve/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is an engine whose batches say what they were asked for. A batch has one
// node and one edge per seed, and features.
type fake struct {
	path   string
	fail   error         // given in place of batch failAt
	failAt int64         //
	open   atomic.Int64  // iterators
	made   atomic.Int64  // batches
	wide   bool          // rows of features are long: of 400,000 bytes
	hold   chan struct{} // where not nil, each batch waits for a value or the end of its context
}

const (
	fakeNodes = 1000
	fakeDim   = 4
)

func newFake(t testing.TB) *fake {
	path := filepath.Join(t.TempDir(), "graph.bin")
	require.NoError(t, os.WriteFile(path, []byte("a graph"), 0o600))
	return &fake{path: path}
}

var (
	fakePrint   = base.Fingerprint{0xab, 1: 0xcd, 15: 7}
	fakeContent = base.Fingerprint{0xef, 14: 9}
)

func (f *fake) Info() engine.Info {
	return engine.Info{
		Path: f.path, Nodes: fakeNodes, Edges: fakeNodes, Fingerprint: fakePrint.String(), ContentID: fakeContent.String(),
		Features: &engine.TableInfo{Name: "x", Dim: fakeDim, DType: "float32"},
		Attrs:    []engine.TableInfo{{Name: "y", DType: "int64"}},
		Budget:   engine.Budget{Memory: 1 << 30},
	}
}

func (f *fake) Stats() engine.Stats { return engine.Stats{} }

func (f *fake) NumBatches(r engine.Request) (int64, error) {
	if r.BatchSize < 1 {
		return 0, &engine.RequestError{Field: "BatchSize", Value: r.BatchSize, Why: "it must be at least 1"}
	}
	for _, name := range r.Attrs {
		if name != "y" {
			return 0, &engine.RequestError{Field: "Attrs", Value: name, Why: "unknown"}
		}
	}
	for _, v := range r.Nodes {
		if v >= fakeNodes {
			return 0, &engine.RequestError{Field: "Nodes", Value: v, Why: "unknown", Err: sampler.ErrUnknownNode}
		}
	}
	n := int64(fakeNodes)
	if r.Nodes != nil {
		n = int64(len(r.Nodes))
	}
	return (n + int64(r.BatchSize) - 1) / int64(r.BatchSize), nil
}

// Lookup knows original ids that are ten times the node's.
func (f *fake) Lookup(_ context.Context, originals []int64) (nodes []engine.NodeID, err error) {
	for i, id := range originals {
		if id%10 != 0 || id >= 10*fakeNodes {
			return nil, &engine.RequestError{Field: fmt.Sprintf("Nodes[%d]", i), Value: id, Why: "unknown", Err: sampler.ErrUnknownNode}
		}
		nodes = append(nodes, engine.NodeID(id/10))
	}
	return nodes, nil
}

func (f *fake) Batches(ctx context.Context, r engine.Request) iter.Seq2[*engine.Batch, error] {
	return func(yield func(*engine.Batch, error) bool) {
		f.open.Add(1)
		defer f.open.Add(-1)
		n, err := f.NumBatches(r)
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range n {
			if err := f.wait(ctx); err != nil {
				yield(nil, err)
				return
			}
			if f.fail != nil && i == f.failAt {
				yield(nil, f.fail)
				return
			}
			f.made.Add(1)
			if !yield(f.batch(r, i), nil) {
				return
			}
		}
	}
}

func (f *fake) wait(ctx context.Context) error {
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func (f *fake) batch(r engine.Request, i int64) *engine.Batch {
	nodes := r.Nodes
	if nodes == nil {
		for v := range base.NodeID(fakeNodes) {
			nodes = append(nodes, v)
		}
	}
	lo := int(i) * r.BatchSize
	nodes = nodes[lo:min(len(nodes), lo+r.BatchSize)]
	b := &engine.Batch{Index: base.BatchIdx(i), Epoch: r.Epoch, Fingerprint: fakePrint, ContentID: fakeContent, Generator: r.Generator}
	b.Seeds = len(nodes)
	b.SampledNodes, b.SampledEdges = []int64{int64(b.Seeds), 0}, []int64{int64(b.Seeds)}
	for k, v := range nodes {
		b.NID = append(b.NID, int64(v))
		b.Row, b.Col = append(b.Row, int64(k)), append(b.Col, int64(k))
		b.InputID = append(b.InputID, int64(lo+k))
		if r.EdgeIDs {
			b.EID = append(b.EID, int64(v)+int64(r.Seed))
		}
		if r.Features {
			b.X.Data = binary.LittleEndian.AppendUint64(b.X.Data, uint64(v))
			b.X.Data = binary.LittleEndian.AppendUint64(b.X.Data, r.Seed)
		}
	}
	if r.Features {
		b.X.Dim, b.X.DType = fakeDim, "float32"
	}
	if f.wide {
		b.X.Data = wideRows[:len(nodes)*400_000]
	}
	for _, name := range r.Attrs {
		y := engine.Attr{Name: name, Rows: engine.Rows{DType: "int64"}}
		for _, v := range nodes {
			y.Data = binary.LittleEndian.AppendUint64(y.Data, uint64(v)*3)
		}
		b.Attrs = append(b.Attrs, y)
	}
	return b
}

// wideRows are features of a hundred nodes.
var wideRows = make([]byte, 100*400_000)

// expect is what the fake gives for a request, printed.
func (f *fake) expect(t testing.TB, r engine.Request) (all []string) {
	n, err := f.NumBatches(r)
	require.NoError(t, err)
	for i := range n {
		all = append(all, plain(f.batch(r, i)))
	}
	return all
}

// plain is what a batch says, short: its counts and a hash of the rest. Nil and
// empty lists are the same.
func plain(b *engine.Batch) string {
	all := fmt.Sprint(b.Subgraph, b.Index, b.Epoch, b.InputID, b.X, b.Attrs, b.Fingerprint, b.ContentID, b.Generator)
	return fmt.Sprintf("batch %d: %d nodes, %d edges, %x", b.Index, len(b.NID), len(b.Row), xxh3.HashString(all))
}

// served is a server that runs.
type served struct {
	*fake
	listen string
	stop   context.CancelFunc
	result chan serve.Result
	err    chan error
	cut    bool // the test cuts a stream, and what gRPC had queued for it is the garbage collector's
}

func address(t testing.TB) string { return "unix://" + filepath.Join(shortDir(t), "a.sock") }

// shortDir is a folder whose path leaves room for a socket's name.
func shortDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/tmp", "serve")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// start serves f and sees to it that nothing is left at the end of the test.
func start(t testing.TB, f *fake, change func(*serve.Config)) *served {
	t.Helper()
	t.Cleanup(func() { require.Zero(t, f.open.Load(), "iterators left open") })
	s := startOn(t, f, change)
	s.fake = f
	return s
}

// startOn is start for any engine.
func startOn(t testing.TB, e serve.Engine, change func(*serve.Config)) *served {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	ready := make(chan struct{})
	c := serve.Config{
		Engine: e, Listen: address(t), Version: "1.2.3", Log: quiet,
		Ready: func() { close(ready) },
	}
	if change != nil {
		change(&c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{listen: c.Listen, stop: cancel, result: make(chan serve.Result, 1), err: make(chan error, 1)}
	go func() {
		result, err := serve.Run(ctx, c.WithAllocator(mem))
		s.result <- result
		s.err <- err
	}()
	t.Cleanup(func() {
		s.end(t)
		if !s.cut {
			mem.AssertSize(t, 0)
		}
	})
	select {
	case <-ready:
	case err := <-s.err:
		s.err <- err
		require.NoError(t, err)
	}
	return s
}

// end stops the server and gives its result.
func (s *served) end(t testing.TB) serve.Result {
	s.stop()
	r := <-s.result
	require.NoError(t, <-s.err)
	s.result <- r
	s.err <- nil
	return r
}

func (s *served) dial(t testing.TB) *client.Client {
	c, err := client.Dial(s.listen)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// collect reads a whole stream.
func collect(ctx context.Context, c *client.Client, ticket serve.Ticket) (all []string, err error) {
	for rec, err := range c.Batches(ctx, ticket) {
		if err != nil {
			return all, err
		}
		b, err := arrowbatch.Decode(rec)
		if err != nil {
			return all, err
		}
		all = append(all, plain(b))
	}
	return all, nil
}

// eventually waits for something that happens in another goroutine soon.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 20*time.Second, 2*time.Millisecond, what)
}

var quiet = slog.New(slog.DiscardHandler)

var errFake = errors.New("the engine broke")
