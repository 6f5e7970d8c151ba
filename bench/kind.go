package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/aether-ooc/aether-ooc/internal/report"
)

// Kind is a type of option values: how they are written, and what they become.
type Kind struct {
	Name  string // as --help shows it
	Like  string // examples, with their units
	parse func(word string) (any, error)
	show  func(n int64) string // a number of this kind
}

// The kinds of options.
var (
	kindInt      = Kind{"int", "a whole number such as 128", parseInt, decimal}
	kindUint     = Kind{"uint", "a whole number such as 1", parseUint, decimal}
	kindBytes    = Kind{"bytes", "a number of bytes, or one with a unit, such as 4k, 64KiB or 2GiB (k, m, g count in 1,024, kB, MB, GB in 1,000)", asAny(report.ParseBytes), report.Bytes[int64]}
	kindBudget   = Kind{"bytes", "as bytes, such as 512MiB or 2g, or a share such as 25%, of the adjacency as plain 32-bit ids: 4 bytes for each edge", parseBudget, decimal}
	kindDuration = Kind{"duration", "a time such as 500ms, 10s or 2m; a bare number counts seconds", parseDuration, duration}
	kindBool     = Kind{"bool", "1 or 0, true or false", parseBool, decimal}
	kindText     = Kind{"string", "a path or a word", func(w string) (any, error) { return w, nil }, decimal}
	kindFanouts  = Kind{"list", "how many neighbours each hop draws, such as 25,10; -1 takes all", asAny(report.ParseFanouts), decimal}
	kindSizes    = Kind{"sizes", "sizes such as 4k,64KiB", parseSizes, decimal}
	kindCounts   = Kind{"counts", "whole numbers from 1 up such as 1,32,128", parseCounts, decimal}
	kindFloat    = Kind{"float", "a number such as 1.1", parseFloat, decimal}
	kindMix      = Kind{"mix", "sizes with their weights, such as 4k/70:64k/30", parseMix, decimal}
)

func decimal(n int64) string  { return strconv.FormatInt(n, 10) }
func duration(n int64) string { return time.Duration(n).String() }

// asAny makes a parser of one type a kind's.
func asAny[T any](parse func(string) (T, error)) func(string) (any, error) {
	return func(word string) (any, error) {
		v, err := parse(word)
		if err != nil {
			return nil, err
		}
		return v, nil
	}
}

// number is the value of kinds that have a least.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case time.Duration:
		return int64(v), true
	}
	return 0, false
}

func parseInt(w string) (any, error) {
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no whole number", w)
	}
	return n, nil
}

func parseUint(w string) (any, error) {
	n, err := strconv.ParseUint(w, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no whole number from 0 up", w)
	}
	return n, nil
}

func parseBool(w string) (any, error) {
	switch strings.ToLower(w) {
	case "1", "true", "yes", "on":
		return true, nil
	case "0", "false", "no", "off":
		return false, nil
	}
	return nil, fmt.Errorf("%q is neither yes nor no", w)
}

// budget is an amount of memory, or a share of a graph's plain adjacency.
type budget struct {
	bytes int64
	share float64 // 0: bytes counts
}

func parseBudget(w string) (any, error) {
	percent, isShare := strings.CutSuffix(strings.TrimSpace(w), "%")
	if !isShare {
		n, err := report.ParseBytes(w)
		if err != nil {
			return nil, err
		}
		return budget{bytes: n}, nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	if err != nil || math.IsInf(x, 0) || !(x > 0) {
		return nil, fmt.Errorf("%q is no share", w)
	}
	return budget{share: x / 100}, nil
}

func parseDuration(w string) (any, error) {
	if seconds, err := strconv.ParseFloat(w, 64); err == nil && math.Abs(seconds) < 1e9 {
		return time.Duration(seconds * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(w)
	if err != nil {
		return nil, fmt.Errorf("%q is no time", w)
	}
	return d, nil
}

// parseMix reads fio's bssplit: size/weight:size/weight…
func parseMix(w string) (any, error) {
	var all []Portion
	for _, part := range strings.Split(w, ":") {
		size, weight, _ := strings.Cut(part, "/")
		n, err := report.ParseBytes(size)
		if err != nil {
			return nil, err
		}
		k, err := strconv.ParseInt(weight, 10, 64)
		if err != nil || k < 1 {
			return nil, fmt.Errorf("%q has no weight", part)
		}
		all = append(all, Portion{n, k})
	}
	return all, nil
}

func parseSizes(w string) (any, error) {
	return parseList(w, report.ParseBytes)
}

func parseCounts(w string) (any, error) {
	return parseList(w, func(part string) (int64, error) {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%q is no count", part)
		}
		return n, nil
	})
}

// parseList reads values that commas separate.
func parseList(w string, parse func(string) (int64, error)) (any, error) {
	var all []int64
	for _, part := range strings.Split(w, ",") {
		n, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func parseFloat(w string) (any, error) {
	x, err := strconv.ParseFloat(w, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("%q is no number", w)
	}
	return x, nil
}
