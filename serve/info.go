package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/host"
)

// Info is the answer to the action info: what the engine says of itself and of
// the graph, and what only a server has.
type Info struct {
	Protocol    int     `json:"protocol"` // the version of docs/PROTOCOL.md
	Version     string  `json:"version"`  // of the program
	PID         int     `json:"pid"`
	Device      uint64  `json:"device"` // of the graph file
	Inode       uint64  `json:"inode"`
	BudgetBytes int64   `json:"budget_bytes"`
	IdleSeconds float64 `json:"idle_timeout_seconds"` // 0: the server stays
	engine.Info         // Path is absolute
}

// Lookup asks for nodes by their ids before build --relabel.
type Lookup struct {
	Version   int       `json:"version"`
	Originals Originals `json:"originals"`
}

// Originals are ids of nodes before build --relabel.
type Originals []int64

// UnmarshalJSON reads a list of integers.
func (o *Originals) UnmarshalJSON(b []byte) error {
	if err := integers(b, (*[]int64)(o)); err != nil {
		return fmt.Errorf("originals: %w", err)
	}
	return nil
}

// Found is the answer to the action lookup: nodes in the order of the question.
type Found struct {
	Nodes []engine.NodeID `json:"nodes"`
}

// NumBatches is the answer to the action num_batches.
type NumBatches struct {
	Batches int64 `json:"batches"` // of the ticket's rank, within its range
	Seeds   int64 `json:"seeds"`   // of the whole epoch
}

// Stats is the answer to the action stats.
type Stats struct {
	Server Counters     `json:"server"`
	Engine engine.Stats `json:"engine"`
}

// Counters count since the start of the server.
type Counters struct {
	OpenStreams int64 `json:"open_streams"` // now
	Streams     int64 `json:"streams"`
	Failed      int64 `json:"failed_streams"` // cancelled ones among them
	Batches     int64 `json:"batches"`        // handed to gRPC
	Bytes       int64 `json:"bytes"`
	Uploads     int64 `json:"uploads"`
	HeldLists   int64 `json:"held_uploads"`      // now
	HeldBytes   int64 `json:"held_upload_bytes"` // now
	RSSBytes    int64 `json:"rss_bytes"`         // of the server's process, now
	PeakRSS     int64 `json:"peak_rss_bytes"`    // the most that has been
}

type counters struct {
	open, streams, failed, batches, bytes, uploads atomic.Int64
}

// run counts one stream.
func (c *counters) run(stream func() error) error {
	c.streams.Add(1)
	c.open.Add(1)
	defer c.open.Add(-1)
	err := stream()
	if err != nil {
		c.failed.Add(1)
	}
	return err
}

func (c *counters) snapshot() Counters {
	return Counters{
		OpenStreams: c.open.Load(), Streams: c.streams.Load(), Failed: c.failed.Load(),
		Batches: c.batches.Load(), Bytes: c.bytes.Load(), Uploads: c.uploads.Load(),
	}
}

func (s *server) stats() Stats {
	now := s.counters.snapshot()
	lists, bytes := s.uploads.count()
	now.HeldLists, now.HeldBytes = int64(lists), bytes
	now.RSSBytes, now.PeakRSS = orZero(host.RSS()), orZero(host.PeakRSS())
	return Stats{Server: now, Engine: s.Engine.Stats()}
}

// orZero is a reading that some systems do not give.
func orZero(n int64, err error) int64 {
	if err != nil {
		return 0
	}
	return n
}

// describe answers info once and for all: nothing in it changes.
func describe(c Config, info engine.Info) (Info, error) {
	path, err := filepath.Abs(info.Path)
	if err != nil {
		return Info{}, fmt.Errorf("serve: %w", err)
	}
	file, err := os.Stat(path)
	if err != nil {
		return Info{}, fmt.Errorf("serve: the graph file: %w", err)
	}
	info.Path = path
	a := Info{
		Protocol: ProtocolVersion, Version: c.Version, PID: os.Getpid(),
		BudgetBytes: info.Budget.Memory, IdleSeconds: c.IdleTimeout.Seconds(), Info: info,
	}
	if st, ok := file.Sys().(*syscall.Stat_t); ok {
		a.Device, a.Inode = uint64(st.Dev), st.Ino
	}
	return a, nil
}
