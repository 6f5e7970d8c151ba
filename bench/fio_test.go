package bench

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// printsReport is a fio that says what one has once measured.
const printsReport = `echo "fio: a note"; cat "$REPORT"`

// fakeFio puts a shell script in the place of fio.
func fakeFio(t *testing.T, script string) {
	t.Helper()
	report, err := filepath.Abs("testdata/fio.json")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fio"), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	t.Setenv("REPORT", report)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// TestFioArgs: fio is asked what the device workload is asked.
func TestFioArgs(t *testing.T) {
	const always = "--name=aether-ooc --filename=/a:b --readonly --group_reporting --output-format=json --time_based "
	for options, want := range map[string]string{
		"": "--rw=randread --ioengine=io_uring --direct=1 --iodepth=128 --numjobs=1 --randseed=0 --runtime=5000ms --ramp_time=500ms --bs=4096",
		"bs=64k rw=read io=pread buffered=1 lanes=2 depth=1 seed=7 runtime=20ms ramp=0": "--rw=read --ioengine=psync --direct=0 --iodepth=1 --numjobs=2 --randseed=7 --runtime=20ms --ramp_time=0ms --bs=65536",
		"bssplit=4k/70:64k/30 buffers=fixed": "--rw=randread --ioengine=io_uring --direct=1 --iodepth=128 --numjobs=1 --randseed=0 --runtime=5000ms --ramp_time=500ms " +
			"--bssplit=4096/70:65536/30 --fixedbufs --registerfiles",
	} {
		got := deviceConfig(settingsOf(t, "fio", "target=/a:b "+options)).fioArgs()
		require.ElementsMatch(t, strings.Fields(strings.ReplaceAll(always, "a:b", `a\:b`)+want), got, options)
	}
}

func TestFioReport(t *testing.T) {
	fakeFio(t, printsReport)
	r, err := runFio(t.Context(), deviceConfig(settingsOf(t, "fio", "lanes=2 depth=8 target="+t.TempDir())))
	require.NoError(t, err)
	require.Equal(t, "fio-3.33", r.Version)
	require.InDelta(t, 41607.97, r.IOPS, 0.01)
	require.EqualValues(t, 12524, r.Reads)
	require.Equal(t, FioLatency{374080.251757, 370688, 692224, 1597440, 2213807}, r.Clat)
	require.InDelta(t, 0.301, r.Seconds, 1e-9)
	require.InDelta(t, 0.137, r.CPUSeconds, 1e-3) // 22.8 % of two jobs' 0.6 s
	require.InDelta(t, 15.9, r.AchievedDepth, 0.1)
}

func TestFioFails(t *testing.T) {
	target := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(target, make([]byte, 1<<16), 0o644))
	for script, says := range map[string]string{
		"echo 'fio: no such engine' >&2; exit 1": "no such engine",
		"echo '{\"jobs\": []}'":                  "0 jobs",
		"exit 3":                                 "exit status 3",
	} {
		fakeFio(t, script)
		_, err := runFio(t.Context(), deviceConfig(settingsOf(t, "fio", "target="+target)))
		require.ErrorContains(t, err, says)
	}
	_, err := runFio(t.Context(), deviceConfig(settingsOf(t, "fio", "target="+target+".gone")))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestFioInterrupted: an interrupt reaches fio, which reports what it has.
func TestFioInterrupted(t *testing.T) {
	in := tiny(t)
	fakeFio(t, `trap 'cat "$REPORT"; exit 0' INT; touch "$REPORT_DIR/begun"; while :; do sleep 0.01; done`)
	t.Setenv("REPORT_DIR", in.dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(in.dir, "begun")); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	d, err := Run(ctx, []Section{{"x", settingsOf(t, "fio", "repeat=2 target="+in.graph)}}, Hooks{})
	require.NoError(t, err)
	require.True(t, d.single().common().CutShort)
	require.Positive(t, d.single().Metrics()[0].Value)
	require.Contains(t, d.Text(), "CUT SHORT")
}

// TestFioMissing: other sections go on, and the report says what is missing and
// what to do.
func TestFioMissing(t *testing.T) {
	in := tiny(t)
	t.Setenv("PATH", in.dir)
	fio, device := settingsOf(t, "fio", in.quick()["fio"]+" repeat=2"), settingsOf(t, "device", in.quick()["device"]+" repeat=2 against=fio")
	d, err := Run(t.Context(), []Section{{"fio", fio}, {"ours", device}}, Hooks{})
	require.NoError(t, err)
	require.Len(t, d.Sections[1].Runs, 2)
	require.Contains(t, d.Text(), "MISSING: fio is not installed: install it")
	require.Contains(t, d.Text(), "no ratio to [fio]: fio is not installed")
	page, err := d.HTML()
	require.NoError(t, err)
	require.Contains(t, string(page), "Missing: fio is not installed")
	b, err := d.JSON(false)
	require.NoError(t, err)
	require.Contains(t, string(b), `"missing": "fio is not installed`)

	_, err = Run(t.Context(), []Section{{"fio", fio}}, Hooks{})
	require.ErrorIs(t, err, ErrMissing)
}
