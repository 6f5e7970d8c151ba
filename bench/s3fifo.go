package bench

import "github.com/aether-ooc/aether-ooc/internal/base"

// s3fifo is S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need
// for cache eviction", SOSP 2023): new blocks pass a small queue, a tenth of the
// cache, and reach the main one only if they were asked for again meanwhile; a
// ghost queue remembers those that were not, and lets them straight in next time.
type s3fifo struct {
	slots       int
	asked       []uint8 // of each block that is there, up to 3
	in          []queueName
	ghostAt     []int // of each block: when it became a ghost, from 1; 0: never
	ghosts      int   // so many became one
	small, main fifo
}

type queueName uint8

const (
	inNone queueName = iota
	inSmall
	inMain
)

// fifo is a queue of blocks.
type fifo struct {
	blocks []base.BlockNo
	first  int
}

func (q *fifo) push(b base.BlockNo) { q.blocks = append(q.blocks, b) }
func (q *fifo) len() int            { return len(q.blocks) - q.first }

func (q *fifo) pop() base.BlockNo {
	b := q.blocks[q.first]
	q.first++
	if 2*q.first > len(q.blocks) {
		q.blocks = q.blocks[:copy(q.blocks, q.blocks[q.first:])]
		q.first = 0
	}
	return b
}

func newS3FIFO(t *Trace) *s3fifo {
	return &s3fifo{slots: t.Slots, asked: make([]uint8, t.Span), in: make([]queueName, t.Span), ghostAt: make([]int, t.Span)}
}

func (s *s3fifo) ask(_ int, b base.BlockNo) bool {
	if s.in[b] != inNone {
		s.asked[b] = min(s.asked[b]+1, 3)
		return true
	}
	for s.small.len()+s.main.len() >= s.slots {
		s.evict()
	}
	s.asked[b] = 0
	if at := s.ghostAt[b]; at > 0 && s.ghosts-at < s.slots { // the ghosts are as many as the slots
		s.put(&s.main, inMain, b)
	} else {
		s.put(&s.small, inSmall, b)
	}
	return false
}

func (s *s3fifo) put(q *fifo, name queueName, b base.BlockNo) {
	q.push(b)
	s.in[b] = name
}

func (s *s3fifo) evict() {
	if s.small.len() >= max(1, s.slots/10) || s.main.len() == 0 {
		s.evictSmall()
		return
	}
	s.evictMain()
}

func (s *s3fifo) evictSmall() {
	b := s.small.pop()
	if s.asked[b] > 1 {
		s.asked[b] = 0
		s.put(&s.main, inMain, b)
		return
	}
	s.in[b] = inNone
	s.ghosts++
	s.ghostAt[b] = s.ghosts
}

func (s *s3fifo) evictMain() {
	b := s.main.pop()
	if s.asked[b] == 0 {
		s.in[b] = inNone
		return
	}
	s.asked[b]--
	s.put(&s.main, inMain, b)
}
