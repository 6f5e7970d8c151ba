package bench

import "time"

// tick is how often a meter looks.
const tick = 100 * time.Millisecond

// meter watches a counter while a run is measured: for the series over time, and
// to say how it goes.
type meter struct {
	env   env
	unit  string
	count func() int64 // from the meter's goroutine
	ramp  time.Duration

	quit   chan struct{}
	done   chan struct{}
	points []Point
}

// watch starts a meter that looks after a ramp; its counter must be safe to read
// from any goroutine.
func watch(e env, unit string, ramp time.Duration, count func() int64) *meter {
	m := &meter{env: e, unit: unit, count: count, ramp: ramp, quit: make(chan struct{}), done: make(chan struct{})}
	go m.run()
	return m
}

// stop ends the meter and gives the series.
func (m *meter) stop() []Point {
	close(m.quit)
	<-m.done
	return m.points
}

// reading is the counter at one moment.
type reading struct {
	at    time.Time
	count int64
}

func (m *meter) read() reading { return reading{time.Now(), m.count()} }

// since is how many a second there were between two readings.
func (r reading) since(o reading) float64 {
	return ratio(float64(r.count-o.count), r.at.Sub(o.at).Seconds())
}

func (m *meter) run() {
	defer close(m.done)
	select {
	case <-m.quit:
		return
	case <-time.After(m.ramp):
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	start := m.read()
	last, said := start, start
	for {
		select {
		case <-m.quit:
			return
		case <-ticker.C:
		}
		now := m.read()
		m.points = append(m.points, Point{now.at.Sub(start.at).Seconds(), now.since(last)})
		last = now
		if m.env.every > 0 && now.at.Sub(said.at) >= m.env.every {
			m.env.say(Status{Elapsed: now.at.Sub(start.at), Done: now.count - start.count, PerSecond: now.since(said), Unit: m.unit})
			said = now
		}
	}
}
