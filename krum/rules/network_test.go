package rules

import (
	"testing"

	"github.com/spdl/spdl/internal/stage"
)

// zeroOnes runs 64 inputs of zeros and ones at a time through the network, one a bit: the lesser is
// the conjunction, the greater the disjunction. By the 0-1 principle a network that works on all
// 0-1 inputs works on all inputs.
func zeroOnes(network []comparator, values []uint64) {
	for _, c := range network {
		x, y := values[c.lo], values[c.hi]
		values[c.lo], values[c.hi] = x&y, x|y
	}
}

// requireMiddle checks that ranks [from, to) of 64 inputs arrive among positions [from, to).
func requireMiddle(t *testing.T, network []comparator, input []uint64, from, to int) {
	t.Helper()
	n := len(input)
	output := append([]uint64(nil), input...)
	zeroOnes(network, output)
	for bit := range 64 {
		ones, got := 0, 0
		for i := range n {
			ones += int(input[i] >> bit & 1)
			if i >= from && i < to {
				got += int(output[i] >> bit & 1)
			}
		}
		if want := max(0, min(to-from, to-(n-ones))); got != want {
			t.Fatalf("n=%d ranks %d to %d: %d ones of %d, want %d", n, from, to, got, ones, want)
		}
	}
}

// middles are the ranges of ranks that rules ask for, with f of n Byzantine.
func middles(n int) [][2]int {
	list := [][2]int{{(n - 1) / 2, n/2 + 1}}
	for f := 0; 2*f < n; f += 1 + n/4 {
		list = append(list, [2]int{f, n - f})
	}
	return list
}

func TestMiddleNetworksWorkOnAllZeroOneInputs(t *testing.T) {
	for n := 6; n <= stage.Pick(14, 16, 20); n++ {
		for _, r := range middles(n) {
			network := middleNetwork(n, r[0], r[1])
			input := make([]uint64, n)
			for high := range 1 << (n - 6) {
				copy(input, []uint64{ // the low six bits of 64 consecutive inputs
					0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0,
					0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000,
				})
				for i := 6; i < n; i++ {
					input[i] = -uint64(high >> (i - 6) & 1)
				}
				requireMiddle(t, network, input, r[0], r[1])
			}
		}
	}
}

// For numbers whose inputs nobody can run through, 64 random ones of each count of ones.
func TestMiddleNetworksOfManyWorkOnZeroOneInputs(t *testing.T) {
	r := splitmix64(17)
	for _, n := range []int{21, 30, 31, 64, 65, 100, stage.Pick(129, 257, 1000)} {
		for _, ranks := range middles(n) {
			network := middleNetwork(n, ranks[0], ranks[1])
			for ones := range n + 1 {
				input := make([]uint64, n)
				for bit := range 64 {
					order := ascending(n)
					for k := range ones { // of the first of a random order
						o := k + r.below(n-k)
						order[k], order[o] = order[o], order[k]
						input[order[k]] |= 1 << bit
					}
				}
				requireMiddle(t, network, input, ranks[0], ranks[1])
			}
		}
	}
}
