package blockcache

// Counters say what visits of a file led to. Each block asked for is a hit, a
// miss or a wait.
type Counters struct {
	Hits      int64 // it was there
	Misses    int64 // the lane that asked read it
	Waits     int64 // another lane was reading it
	Reads     int64 // read requests: as many as misses, or fewer where one brought several
	BytesRead int64
	BytesSunk int64   // of them, those that nobody had asked for: of blocks between two that were missing
	ReadCost  float64 // of the reads together, in reads of one block; see Config.Cost
	Evictions int64   // blocks that left again; of the cache as a whole, not of a lane
	Rejected  int64   // blocks that the policy declined to keep; likewise

	// ReadSizes counts the reads by their blocks: of 1, 2, 3–4, 5–8, and so on.
	ReadSizes [SizeBuckets]int64
}

// SizeBuckets is how many ranges of sizes of reads are told apart.
const SizeBuckets = 9

func (c *Counters) add(o Counters) {
	c.Hits += o.Hits
	c.Misses += o.Misses
	c.Waits += o.Waits
	c.Reads += o.Reads
	c.BytesRead += o.BytesRead
	c.Evictions += o.Evictions
	c.Rejected += o.Rejected
	c.BytesSunk += o.BytesSunk
	c.ReadCost += o.ReadCost
	for i, n := range o.ReadSizes {
		c.ReadSizes[i] += n
	}
}

// Asked is how many blocks were asked for.
func (c Counters) Asked() int64 { return c.Hits + c.Misses + c.Waits }

// LaneStats are what one lane did, by file and together. A visit is counted
// when it ends.
type LaneStats struct {
	Counters
	Files []Counters // by FileID; shorter than the files when the last were not visited
}

// Stats are what all lanes did together, and what the cache holds.
type Stats struct {
	LaneStats
	Slots     int
	Footprint int64
}

// Stats may be called from any goroutine.
func (l *Lane) Stats() LaneStats {
	var s LaneStats
	l.mu.Lock()
	defer l.mu.Unlock()
	s.merge(l.counts)
	return s
}

func (s *LaneStats) merge(counts []Counters) {
	for f, n := range counts {
		s.Counters.add(n)
		if f == len(s.Files) {
			s.Files = append(s.Files, Counters{})
		}
		s.Files[f].add(n)
	}
}

func (l *Lane) count(f FileID, n Counters) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.counts) <= int(f) {
		l.counts = append(l.counts, Counters{})
	}
	l.counts[f].add(n)
}

// Stats sums up the lanes.
func (c *Cache) Stats() Stats {
	s := Stats{Slots: c.cfg.Slots, Footprint: Footprint(c.cfg)}
	c.mu.Lock()
	defer c.mu.Unlock()
	var own []Counters
	for _, f := range *c.files.Load() {
		own = append(own, Counters{Evictions: f.evictions.Load(), Rejected: f.rejected.Load()})
	}
	s.merge(own)
	for _, l := range c.lanes[:c.made] {
		s.merge(l.Stats().Files)
	}
	return s
}
