package layout

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/binfmt"
)

var (
	// ErrCorrupt says that a file is damaged, cut short or no file of ours. It
	// always comes as a *CorruptError, which has the place.
	ErrCorrupt = errors.New("restore the file from a good copy or build it again")

	// ErrVersion says that a whole file was written by a later version.
	ErrVersion = errors.New("update aether-ooc, or build the graph again with this version")
)

// CorruptError is the place and the nature of the first damage seen in a file.
type CorruptError struct {
	File    string       `json:"file"`
	Section string       `json:"section"`
	Block   base.BlockNo `json:"block"`
	Offset  base.ByteOff `json:"offset_bytes"` // of the block, or of the wrong bytes where they are known
	Want    string       `json:"want"`
	Got     string       `json:"got"`
	Detail  string       `json:"detail"`
}

func (e *CorruptError) Error() string {
	var s strings.Builder
	for _, part := range []string{e.File, e.Section} {
		if part != "" {
			s.WriteString(part + ": ")
		}
	}
	fmt.Fprintf(&s, "block %d at offset %d: %s", e.Block, e.Offset, e.Detail)
	if e.Want != "" || e.Got != "" {
		fmt.Fprintf(&s, ": want %s, got %s", e.Want, e.Got)
	}
	return s.String() + "; " + ErrCorrupt.Error()
}

// Unwrap makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Unwrap() error { return ErrCorrupt }

// damage makes a CorruptError for bytes at place at of a block. File, section
// and block are filled in by whoever knows them (see located).
func damage(at int, detail string, want, got any) *CorruptError {
	e := &CorruptError{Offset: base.ByteOff(at), Detail: detail}
	if want != nil {
		e.Want, e.Got = fmt.Sprint(want), fmt.Sprint(got)
	}
	return e
}

// in moves the damage, so far placed within a block, to block no of a section.
func (e *CorruptError) in(file, section string, no base.BlockNo) *CorruptError {
	e.File, e.Section, e.Block = file, section, no
	e.Offset += no.Off()
	return e
}

// checkSeal compares the seal of block no with its bytes.
func checkSeal(file, section string, no base.BlockNo, b []byte) *CorruptError {
	if len(b) != base.BlockSize {
		return damage(0, "a block has another length", base.BlockSize, len(b)).in(file, section, no)
	}
	if want, got, ok := binfmt.Check(b, no); !ok {
		return damage(0, "the seal does not match the bytes", hex32(want), hex32(got)).in(file, section, no)
	}
	return nil
}

func hex32(x uint32) string { return fmt.Sprintf("crc32c %08x", x) }
