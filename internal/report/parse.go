package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// ParseBytes reads a number of bytes: 4096, 1.5 MiB as Bytes writes it, 2GB, or a
// bare k, m, g or t, which count in 1,024 as fio's do.
func ParseBytes(word string) (int64, error) {
	text := strings.ToLower(strings.TrimSpace(word))
	if text != "" && strings.ContainsRune("kmgt", rune(text[len(text)-1])) {
		text += "ib"
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is no size", word)
	}
	return int64(n), nil
}

// ParseFanouts reads how many neighbours each hop draws: 25,10, or -1 for all.
func ParseFanouts(word string) ([]int, error) {
	var all []int
	for part := range strings.SplitSeq(word, ",") {
		k, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || k < -1 {
			return nil, fmt.Errorf("%q is no fanout", part)
		}
		all = append(all, k)
	}
	return all, nil
}
