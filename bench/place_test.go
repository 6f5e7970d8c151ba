package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlace(t *testing.T) {
	p := placeOf(t.TempDir())
	require.NotEmpty(t, p.Device)
	require.NotEmpty(t, p.Filesystem)
	require.Equal(t, "proc", placeOf("/proc/self/stat").Filesystem)
	require.Equal(t, "unknown", Place{}.String())
	h := ThisHost()
	require.Positive(t, h.CPUs)
	require.NotEmpty(t, h.Kernel)
	require.NotContains(t, h.String(), "%!")
	require.NotEmpty(t, h.Revision)

	for _, c := range []struct {
		path, folder string
		want         bool
	}{{"/a/b", "/", true}, {"/a/b", "/a", true}, {"/a", "/a", true}, {"/ab", "/a", false}, {"/a", "/a/b", false}} {
		require.Equal(t, c.want, under(c.path, c.folder), "%s %s", c.path, c.folder)
	}
}

func TestSource(t *testing.T) {
	for word, want := range map[string]Host{
		"0123456789abcdef":       {Revision: "0123456789abcdef"},
		"0123456789abcdef-dirty": {Revision: "0123456789abcdef", Modified: true},
		"unknown":                {Revision: "unknown"},
		"":                       {Revision: "unknown"}, // go test knows of no repository
	} {
		commit, modified := sourceOf(word)
		require.Equal(t, want, Host{Revision: commit, Modified: modified}, word)
	}
	require.Contains(t, Host{Revision: "0123456789abcdef", Modified: true}.String(), "revision 0123456789ab with changes")
}

// TestPageCache: what was just written lies in the page cache, and leaves it when
// asked to.
func TestPageCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f, err := os.Create(path)
	require.NoError(t, err)
	_, err = f.Write(make([]byte, 1<<20+100))
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	if placeOf(path).Filesystem == "tmpfs" {
		t.Skip("a tmpfs is nothing but page cache")
	}
	require.EqualValues(t, 1<<20+100, pageCacheOf(path))
	dropPages(path)
	require.Less(t, pageCacheOf(path), int64(1<<19)) // the kernel may keep a page that something looks at
	require.Zero(t, pageCacheOf(path+".gone"))
	dropPages(path + ".gone")
}

func TestMachineBusy(t *testing.T) {
	before := machineBusy()
	require.Positive(t, before)
	require.GreaterOrEqual(t, machineBusy(), before)
}
