package bench

import (
	"math"
	"slices"
)

// mannWhitney is how likely two samples would differ in rank at least as much as
// a and b do, in either direction, if they came from one distribution (Mann,
// Whitney: "On a Test of Whether one of Two Random Variables is Stochastically
// Larger than the Other", 1947): exact where no value occurs twice, else by the
// normal approximation with corrections for ties and continuity.
func mannWhitney(a, b []float64) float64 {
	u, ties := rankSum(a, b)
	n, m := float64(len(a)), float64(len(b))
	if n == 0 || m == 0 {
		return 1
	}
	u = min(u, n*m-u)
	if ties == 0 && n*m <= 2500 {
		return exact(int(u), len(a), len(b))
	}
	variance := n * m / 12 * (n + m + 1 - ties/((n+m)*(n+m-1)))
	if variance == 0 {
		return 1 // all values are the same
	}
	z := (n*m/2 - u - 0.5) / math.Sqrt(variance)
	return min(1, math.Erfc(max(0, z)/math.Sqrt2))
}

// rankSum is U, how often a value of a exceeds one of b (a tie counts half), and
// the sum of t³ − t over the groups of t equal values.
func rankSum(a, b []float64) (u, ties float64) {
	for _, x := range a {
		for _, y := range b {
			switch {
			case x > y:
				u++
			case x == y:
				u += 0.5
			}
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(a, b)))
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j] == all[i] {
			j++
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return u, ties
}

// exact is twice the probability of a U of at most u, with n and m values that
// all differ. ways[i][k] counts the orders of i values of a among the b so far
// with U = k; each further value of b stands above or below each of a.
func exact(u, n, m int) float64 {
	ways := make([][]float64, n+1)
	for i := range ways {
		ways[i] = make([]float64, n*m+1)
		ways[i][0] = 1 // no b yet: one order
	}
	for j := 1; j <= m; j++ {
		for i := 1; i <= n; i++ {
			// The largest value is a b, or it is an a, above all j of b.
			for k := n * m; k >= 0; k-- {
				if k >= j {
					ways[i][k] += ways[i-1][k-j]
				}
			}
		}
	}
	var low, all float64
	for k, w := range ways[n] {
		all += w
		if k <= u {
			low += w
		}
	}
	return min(1, 2*low/all)
}
