package layout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Role is what an attachment is to the graph.
type Role string

const (
	Features Role = "features" // the rows that sampling fetches
	Attr     Role = "attr"     // a named value per node, as labels are
	EdgeAttr Role = "edge"     // a named value per row of the input, by e_id, as weights are
)

// Attachment is one file beside the graph, found from the graph's path alone.
type Attachment struct {
	Role   Role     `json:"role"`
	Name   string   `json:"name"`
	Suffix string   `json:"suffix"` // of its path: the graph's path and this
	DType  string   `json:"dtype"`  // in NumPy's words (float32), or bfloat16
	Shape  []uint64 `json:"shape"`  // the first: see Rows
	Bytes  uint64   `json:"bytes"`  // of the whole file
	Hash   string   `json:"hash"`   // XXH3-128 of the whole file, hexadecimal
}

// attachmentsMax bounds the section, so that a hostile one costs no memory.
const attachmentsMax = 16 << 20

var attrName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)

// FeaturesAttachment names the feature matrix.
func FeaturesAttachment() Attachment {
	return Attachment{Role: Features, Name: "x", Suffix: ".features.npy"}
}

// AttrAttachment names an attribute's file; the name becomes part of a path.
func AttrAttachment(name string) (Attachment, error) {
	if !attrName.MatchString(name) {
		return Attachment{}, fmt.Errorf("attribute name %q: use 1 to 100 letters, digits, '_', '-' and '.', the first a letter, digit or '_'", name)
	}
	return Attachment{Role: Attr, Name: name, Suffix: ".attr." + name + ".npy"}, nil
}

// EdgeAttachment names an edge attribute's file.
func EdgeAttachment(name string) (Attachment, error) {
	a, err := AttrAttachment(name)
	return Attachment{Role: EdgeAttr, Name: name, Suffix: ".edge." + a.Name + ".npy"}, err
}

// Rows is how many rows the attachment of a graph has.
func (a Attachment) Rows(s Superblock) uint64 {
	if a.Role == EdgeAttr {
		return s.InputEdges
	}
	return s.Nodes
}

// Path is where the attachment of a graph lies.
func (a Attachment) Path(graph string) string { return graph + a.Suffix }

// SumsPath is where the checksums of a file beside a graph lie.
func SumsPath(path string) string { return path + sumsSuffix }

// encodeAttachments gives the section's content: the same for the same list in
// any order.
func encodeAttachments(list []Attachment) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Attachment) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Name, b.Name))
	})
	if err := checkAttachments(list); err != nil {
		return nil, err
	}
	return json.Marshal(list)
}

func decodeAttachments(b []byte) ([]Attachment, error) {
	var list []Attachment
	if len(b) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	return list, checkAttachments(list)
}

// checkAttachments refuses what could name a file elsewhere, and names given
// twice. Roles of later versions pass.
func checkAttachments(list []Attachment) error {
	seen := map[string]bool{}
	for _, a := range list {
		if seen[a.Suffix] {
			return fmt.Errorf("attachment %q twice", a.Suffix)
		}
		seen[a.Suffix] = true
		if want, err := a.named(); err != nil || a.Suffix != want.Suffix {
			return fmt.Errorf("attachment %s %q must not lie at %q", a.Role, a.Name, a.Suffix)
		}
	}
	return nil
}

// named is the attachment as its role and name alone would make it.
func (a Attachment) named() (Attachment, error) {
	switch a.Role {
	case Features:
		return FeaturesAttachment(), nil
	case Attr:
		return AttrAttachment(a.Name)
	case EdgeAttr:
		return EdgeAttachment(a.Name)
	}
	if !strings.HasPrefix(a.Suffix, ".") || strings.ContainsAny(a.Suffix, "/\x00") {
		return Attachment{}, fmt.Errorf("no suffix of a file's name")
	}
	return a, nil
}
