package inspect

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/aether-ooc/aether-ooc/internal/base"
	"github.com/aether-ooc/aether-ooc/internal/npy"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/scan"
)

// besideBytes is what checkBeside will read, for the progress.
func (j *job) besideBytes() (n uint64) {
	for _, a := range j.Attachments {
		n += a.Bytes
	}
	return n
}

func (j *job) checkBeside(r *VerifyResult) error {
	for _, a := range j.Attachments {
		n, err := j.checkAttachment(a)
		if err != nil {
			return err
		}
		r.BesideBytes += n
		r.checked("%s: sums, hash, header, rows", a.Path(j.c.Path))
	}
	return nil
}

// checkAttachment compares an attachment with the graph's word on it and with
// its sums, and gives the bytes of both files.
func (j *job) checkAttachment(a layout.Attachment) (uint64, error) {
	path := a.Path(j.c.Path)
	f, size, err := openBeside(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sumsPath := layout.SumsPath(path)
	sf, sumsSize, err := openBeside(sumsPath)
	if err != nil {
		return 0, err
	}
	defer sf.Close()
	sums, err := layout.OpenSums(sf, sumsSize, sumsPath)
	if err != nil {
		return 0, err
	}
	for _, check := range []func() error{
		func() error { return j.belongs(a, sums) },
		func() error { return sums.CheckLength(size) },
		func() error { return j.checkData(f, path, a, sums) },
		func() error { return j.checkHeader(f, path, size, a) },
	} {
		if err := check(); err != nil {
			return 0, err
		}
	}
	return uint64(size + sumsSize), nil
}

// openBeside opens a file that must be there.
func openBeside(path string) (*os.File, int64, error) {
	f, size, err := scan.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = &layout.CorruptError{File: path, Section: "file", Detail: "the graph has this file beside it", Want: "a file", Got: "none"}
	}
	return f, size, err
}

// belongs compares the header of the sums with the graph.
func (j *job) belongs(a layout.Attachment, s *layout.Sums) error {
	for _, c := range []struct {
		detail    string
		want, got any
	}{
		{"the sums belong to another graph", j.Superblock.Fingerprint, s.Fingerprint},
		{"the sums are of another file: length in bytes", a.Bytes, s.Length},
		{"the sums are of another file: XXH3-128", a.Hash, s.Hash},
	} {
		if c.want != c.got {
			return &layout.CorruptError{File: s.Name, Section: "header", Detail: c.detail, Want: fmt.Sprint(c.want), Got: fmt.Sprint(c.got)}
		}
	}
	return nil
}

// checkData compares every block of the file with its sum, and the whole with
// the hash that the graph has of it.
func (j *job) checkData(f *os.File, path string, a layout.Attachment, s *layout.Sums) error {
	buf := make([]byte, min(pieceBytes, roundUp(s.Length)))
	hash, no := xxh3.New(), base.BlockNo(0)
	for left := s.Length; left > 0; {
		if err := context.Cause(j.Context()); err != nil {
			return err
		}
		n := min(left, pieceBytes)
		clear(buf[n:])
		if _, err := f.ReadAt(buf[:n], int64(no.Off())); err != nil {
			return scan.ReadError(path, "data", no, err)
		}
		hash.Write(buf[:n])
		for b := range slices.Chunk(buf[:roundUp(n)], base.BlockSize) {
			if err := s.Check(no, b); err != nil {
				return err
			}
			no++
		}
		left -= n
		j.progress(int(n))
	}
	sum := hash.Sum128().Bytes()
	if got := hex.EncodeToString(sum[:]); got != a.Hash {
		return &layout.CorruptError{File: path, Section: "data", Detail: "the XXH3-128 of the file", Want: a.Hash, Got: got}
	}
	return nil
}

func roundUp(n uint64) uint64 { return (n + base.BlockSize - 1) / base.BlockSize * base.BlockSize }

// checkHeader compares the .npy header with the graph: rows, shape, dtype.
func (j *job) checkHeader(f *os.File, path string, size int64, a layout.Attachment) error {
	wrong := func(detail string, want, got any) error {
		return &layout.CorruptError{File: path, Section: "header", Detail: detail, Want: fmt.Sprint(want), Got: fmt.Sprint(got)}
	}
	h, err := npy.ReadHeader(io.NewSectionReader(f, 0, size))
	if err == nil {
		err = h.CheckSize(size)
	}
	if err != nil {
		return wrong(err.Error(), "a .npy file", "none")
	}
	shape := make([]uint64, len(h.Shape))
	for i, d := range h.Shape {
		shape[i] = uint64(d)
	}
	switch {
	case !slices.Equal(shape, a.Shape):
		return wrong("shape", a.Shape, shape)
	case len(shape) == 0 || shape[0] != a.Rows(j.Superblock):
		return wrong("one row per node, or per row of the input", a.Rows(j.Superblock), shape)
	case h.DType != a.DType && !(a.DType == "bfloat16" && h.Size == 2):
		return wrong("dtype", a.DType, h.DType)
	}
	return nil
}
