package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aether-ooc/aether-ooc/engine"
)

func TestSampleVerdict(t *testing.T) {
	device := &DeviceResult{IOPS: 1000}
	for _, c := range []struct {
		reads  int64
		iops   float64
		cpu    float64 // seconds, of 2 CPUs in 10 seconds
		lanes  int
		device *DeviceResult
		want   string
	}{
		{0, 0, 19, 2, nil, "compute-bound: nothing was read; 95.0 % of its CPUs"},
		{0, 0, 5, 2, nil, "waiting for a processor: nothing was read, and it had but 25.0 % of its CPUs"},
		{9700, 970, 5, 2, device, "device-bound: 97.0 % of its IOPS for reads of 4.0 KiB; 25.0 % of its CPUs"},
		{9700, 970, 19, 2, device, "device-bound"},
		{5000, 500, 19, 2, device, "compute-bound: 95.0 % of its CPUs, 50.0 % of the device's IOPS"},
		{5000, 500, 9, 1, device, "compute-bound: 90.0 % of 1 lanes' cores"},
		{5000, 500, 19, 2, nil, "compute-bound: 95.0 % of its CPUs"},
		{5000, 500, 5, 2, device, "neither: 50.0 % of the device's IOPS"},
		{5000, 500, 5, 2, nil, "what the device can do was not measured"},
	} {
		r := &SampleResult{Info: engine.Info{Lanes: c.lanes}, Reads: c.reads, ReadBytes: 4096 * c.reads, ReadIOPS: c.iops, Device: c.device}
		r.Seconds, r.CPUs, r.CPUSeconds, r.CPUShare = 10, 2, c.cpu, c.cpu/20
		require.Contains(t, r.verdict(), c.want)
	}
}

func TestDeviceVerdict(t *testing.T) {
	r := &DeviceResult{IOPS: 90000, Lanes: 2}
	r.Seconds, r.CPUSeconds = 10, 6
	require.Contains(t, r.verdict(), "device-bound")
	r.CPUSeconds = 19
	require.Contains(t, r.verdict(), "compute-bound: the lanes use 95.0 %")
}
