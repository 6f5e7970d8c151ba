package serve

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/internal/base"
)

// ProtocolVersion is the version of docs/PROTOCOL.md that is spoken here.
const ProtocolVersion = 1

var (
	errTicket = errors.New("bad ticket")
	errNodeID = errors.New("no node id")
)

// Ticket is the JSON that asks for batches. docs/PROTOCOL.md explains the
// fields.
type Ticket struct {
	Version     int      `json:"version"`
	Fanouts     Fanouts  `json:"fanouts"`
	BatchSize   int      `json:"batch_size"`
	Nodes       Nodes    `json:"nodes"`
	Replace     bool     `json:"replace"`
	EdgeIDs     bool     `json:"edge_ids"`
	Features    bool     `json:"features"`
	NodeAttrs   []string `json:"node_attrs"`
	OriginalIDs bool     `json:"original_ids"`
	Seed        uint64   `json:"seed"`
	Epoch       uint64   `json:"epoch"`
	Shuffle     bool     `json:"shuffle"`
	DropLast    bool     `json:"drop_last"`
	Rank        int      `json:"rank"`
	WorldSize   int      `json:"world_size"`
	Uneven      string   `json:"uneven"`
	First       int64    `json:"first"`
	Count       int64    `json:"count"`
	Fingerprint string   `json:"fingerprint"`
	ContentID   string   `json:"content_id"`
	Generator   string   `json:"generator"`
}

// Nodes is the ticket's choice of seeds: all nodes (the zero value), a list, or
// an uploaded list by its hash.
type Nodes struct {
	List   []engine.NodeID // nil: not a list
	Upload string          // "": not an upload
}

// Fanouts are neighbours per hop, -1 for all.
type Fanouts []int

// UnmarshalJSON reads a list of integers.
func (f *Fanouts) UnmarshalJSON(b []byte) error {
	if err := integers(b, (*[]int)(f)); err != nil {
		return fmt.Errorf("fanouts: %w", err)
	}
	return nil
}

// integers reads a list of them; encoding/json alone would take null for 0.
func integers[T int | int64](b []byte, list *[]T) error {
	if bytes.Contains(b, []byte("null")) {
		return errors.New("null is no integer")
	}
	return json.Unmarshal(b, list)
}

// NewTicket is a ticket with every default.
func NewTicket(fanouts ...int) Ticket {
	return Ticket{
		Version: ProtocolVersion, Fanouts: fanouts, BatchSize: 1024,
		EdgeIDs: true, Features: true, WorldSize: 1, Uneven: engine.Wrap.String(),
	}
}

// uploadName is how JSON names an upload, in a ticket or a DoPut's command.
type uploadName struct {
	Version int    `json:"version,omitempty"`
	Upload  string `json:"upload"`
}

// MarshalJSON writes "all", a list or {"upload": HASH}.
func (n Nodes) MarshalJSON() ([]byte, error) {
	switch {
	case n.Upload != "":
		return json.Marshal(uploadName{Upload: n.Upload})
	case n.List != nil:
		return json.Marshal(n.List)
	}
	return []byte(`"all"`), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and nothing else.
func (n *Nodes) UnmarshalJSON(b []byte) error {
	*n = Nodes{}
	switch b[0] {
	case '"':
		var word string
		if err := json.Unmarshal(b, &word); err != nil || word != "all" {
			return fmt.Errorf(`nodes is %.40s: give "all", a list of ids or {"upload": HASH}`, b)
		}
		return nil
	case '{':
		var name uploadName
		if err := strict(b, &name); err != nil {
			return fmt.Errorf("nodes: %w", err)
		}
		n.Upload = name.Upload
		return checkHash(name.Upload)
	case '[':
		return n.readList(b)
	}
	return fmt.Errorf(`nodes is %.40s: give "all", a list of ids or {"upload": HASH}`, b)
}

func (n *Nodes) readList(b []byte) error {
	var ids []int64
	if err := integers(b, &ids); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	n.List = make([]base.NodeID, len(ids))
	for i, id := range ids {
		n.List[i] = base.NodeID(id)
	}
	return checkIDs(n.List, 0)
}

// checkIDs refuses what no graph has, ids that were negative; whether this
// graph has the others is the engine's to say. ids[0] has the place first in its
// list.
func checkIDs(ids []base.NodeID, first int) error {
	for i, id := range ids {
		if int64(id) < 0 {
			return fmt.Errorf("serve: %w: nodes[%d] is %d: ids count from 0", errNodeID, first+i, int64(id))
		}
	}
	return nil
}

func checkHash(hash string) error {
	if b, err := hex.DecodeString(hash); err != nil || len(b) != 32 || hash != hex.EncodeToString(b) {
		return fmt.Errorf("upload %.80q is no SHA-256: give 64 lower-case hexadecimal digits", hash)
	}
	return nil
}

// strict decodes one JSON value into v and refuses unknown fields and anything
// after it.
func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the JSON value")
	}
	return nil
}

// ParseTicket reads a ticket. What it cannot know without the graph, such as
// which nodes there are, it leaves to the engine.
func ParseTicket(b []byte) (Ticket, error) {
	t := NewTicket()
	t.Version = 0
	if err := strict(b, &t); err != nil {
		return t, fmt.Errorf("serve: %w: %w", errTicket, err)
	}
	if err := t.check(); err != nil {
		return t, fmt.Errorf("serve: %w: %w", errTicket, err)
	}
	return t, nil
}

func (t Ticket) check() error {
	if err := checkVersion(t.Version); err != nil {
		return err
	}
	if t.Fanouts == nil {
		return errors.New(`no fanouts: give the neighbours per hop, as in "fanouts": [25, 10]`)
	}
	if _, err := parseUneven(t.Uneven); err != nil {
		return err
	}
	if err := checkPrint("fingerprint", t.Fingerprint); err != nil {
		return err
	}
	return checkPrint("content_id", t.ContentID)
}

func checkPrint(field, digits string) error {
	if b, err := hex.DecodeString(digits); err != nil || len(b) != 0 && len(b) != len(base.Fingerprint{}) {
		return fmt.Errorf("%s is %.80q: give 32 hexadecimal digits, or none", field, digits)
	}
	return nil
}

func checkVersion(v int) error {
	if v != ProtocolVersion {
		return fmt.Errorf("version is %d, this server speaks %d: use client and server of one release", v, ProtocolVersion)
	}
	return nil
}

func parseUneven(name string) (engine.Uneven, error) {
	for _, u := range []engine.Uneven{engine.Wrap, engine.Drop, engine.Ragged} {
		if u.String() == name {
			return u, nil
		}
	}
	return 0, fmt.Errorf(`uneven is %.40q: give "wrap", "drop" or "ragged"`, name)
}

// request turns the ticket into the engine's terms. nodes are the seeds that
// the ticket chose, nil for all.
func (t Ticket) request(info engine.Info, nodes []base.NodeID) engine.Request {
	uneven, _ := parseUneven(t.Uneven) // check has seen it
	r := engine.Request{
		Nodes: nodes, Fanouts: t.Fanouts, BatchSize: t.BatchSize,
		Replace: t.Replace, EdgeIDs: t.EdgeIDs, Features: t.Features, Attrs: t.NodeAttrs, OriginalIDs: t.OriginalIDs,
		Generator: t.Generator, Seed: t.Seed, Epoch: t.Epoch, Shuffle: t.Shuffle, DropLast: t.DropLast,
		Rank: t.Rank, WorldSize: t.WorldSize, Uneven: uneven,
		First: t.First, Count: t.Count,
	}
	if t.NodeAttrs == nil {
		for _, a := range info.Attrs {
			r.Attrs = append(r.Attrs, a.Name)
		}
	}
	return r
}
