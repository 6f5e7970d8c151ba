package arrowbatch

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/engine"
)

// TestSchema prints the schemas of testdata/schema. The graph's features and
// attributes are given as dtype:dim and NAME=dtype:dim.
func TestSchema(t *testing.T) {
	datadriven.RunTest(t, "testdata/schema", func(t *testing.T, d *datadriven.TestData) string {
		var info engine.Info
		var r engine.Request
		for _, arg := range d.CmdArgs {
			switch arg.Key {
			case "edge-ids":
				r.EdgeIDs = true
			case "x":
				r.Features = true
				c := parseColumn(t, "x", arg.Vals[0])
				info.Features = &c
			case "no-features":
				r.Features = true
			default:
				info.Attrs = append(info.Attrs, parseColumn(t, arg.Key, arg.Vals[0]))
				r.Attrs = append(r.Attrs, arg.Key)
			}
		}
		s, err := Schema(info, r)
		if err != nil {
			return err.Error()
		}
		return s.String()
	})
}

func parseColumn(t *testing.T, name, text string) engine.TableInfo {
	dtype, dim, ok := strings.Cut(text, ":")
	require.True(t, ok, text)
	number, err := strconv.ParseInt(dim, 10, 64)
	require.NoError(t, err)
	return engine.TableInfo{Name: name, DType: dtype, Dim: number}
}

func TestNamesAreKeptApart(t *testing.T) {
	for _, names := range [][]string{{"x"}, {"x_dim"}, {"e_id"}, {"epoch"}, {"fingerprint"}, {"generator"}, {"y", "y"}, {"y", "y_dim"}, {"y_dtype", "y"}} {
		var info engine.Info
		for _, n := range names {
			info.Attrs = append(info.Attrs, engine.TableInfo{Name: n, DType: "int8"})
		}
		_, err := Schema(info, engine.Request{Attrs: names})
		require.ErrorIs(t, err, ErrName, "%v", names)
	}
}

func TestUnknownAttribute(t *testing.T) {
	_, err := Schema(engine.Info{}, engine.Request{Attrs: []string{"z"}})
	var re *engine.RequestError
	require.True(t, errors.As(err, &re))
	require.Equal(t, "Attrs", re.Field)
}

func TestReservedNamesAreAllFixedColumns(t *testing.T) {
	x := engine.TableInfo{DType: "int8"}
	s, err := Schema(engine.Info{Features: &x}, engine.Request{Features: true, EdgeIDs: true, OriginalIDs: true})
	require.NoError(t, err)
	require.Equal(t, s.NumFields(), len(reserved))
	for _, f := range s.Fields() {
		require.True(t, slices.Contains(reserved, f.Name), f.Name)
	}
}
