package matrix

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aether-ooc/aether-ooc/internal/npy"
)

// openNPZ opens one array of an .npz, which is a zip of .npy files.
func openNPZ(c Config) (Reader, error) {
	f, size, err := openFile(c.Path)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, errors.Join(refuse(c.Path, "%v; is it an .npz?", err), f.Close())
	}
	m, err := member(c, z)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	name := c.Path + ":" + m.Name
	if m.Method == zip.Store {
		off, err := m.DataOffset()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
		}
		return newArray(c, name, io.NewSectionReader(f, off, int64(m.UncompressedSize64)), int64(m.UncompressedSize64), f)
	}
	r, err := m.Open()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return newArray(c, name, onlyRead{r}, int64(m.UncompressedSize64), r, f)
}

// onlyRead hides that a reader may be more than one.
type onlyRead struct{ io.Reader }

func member(c Config, z *zip.Reader) (*zip.File, error) {
	var names []string
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		if c.Member == name || c.Member == "" && len(z.File) == 1 {
			return f, nil
		}
		names = append(names, name)
	}
	return nil, refuse(c.Path, "name the array by --array: it has %s", strings.Join(names, ", "))
}

// openRaw opens values without a header.
func openRaw(c Config) (Reader, error) {
	width := npy.SizeOf(c.DType)
	if c.DType == BFloat16 {
		width = 2
	}
	switch {
	case width == 0:
		return nil, refuse(c.Path, "dtype %q of the raw values is not known; give NumPy's word, such as float32, or bfloat16", c.DType)
	case len(c.Shape) != 2 || c.Shape[0] < 0 || c.Shape[1] < 1:
		return nil, refuse(c.Path, "shape %v of the raw values: give rows and columns", c.Shape)
	}
	f, size, err := openFile(c.Path)
	if err != nil {
		return nil, err
	}
	if want := c.Shape[0] * c.Shape[1] * int64(width); want/c.Shape[1]/int64(width) != c.Shape[0] || size != want {
		err := refuse(c.Path, "%d bytes, where %d rows of %d %s take %d; correct the shape", size, c.Shape[0], c.Shape[1], c.DType, want)
		return nil, errors.Join(err, f.Close())
	}
	h := npy.Header{DType: c.DType, Size: width, Shape: c.Shape}
	return &ndarray{name: c.Path, h: h, dtype: c.DType, rows: c.Shape[0], dim: c.Shape[1], stream: f, closes: []io.Closer{f}}, nil
}
