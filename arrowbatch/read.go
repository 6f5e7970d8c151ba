package arrowbatch

import (
	"fmt"
	"iter"
	"os"

	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/aether-ooc/aether-ooc/engine"
)

// ReadFile gives the batches of a file that Create began. A batch is valid
// until the next turn of the loop.
func ReadFile(path string) iter.Seq2[*engine.Batch, error] {
	return func(yield func(*engine.Batch, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		r, err := ipc.NewFileReader(f)
		if err != nil {
			yield(nil, fmt.Errorf("arrowbatch: %s: %w", path, err))
			return
		}
		defer r.Close()
		for i := range r.NumRecords() {
			if !yield(decodeAt(r, i)) {
				return
			}
		}
	}
}

func decodeAt(r *ipc.FileReader, i int) (*engine.Batch, error) {
	rec, err := r.Record(i)
	if err != nil {
		return nil, err
	}
	return Decode(rec)
}
