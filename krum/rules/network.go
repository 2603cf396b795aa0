package rules

// comparator puts the lesser of positions lo < hi at lo.
type comparator struct{ lo, hi int }

// exact marks a rank whose value must arrive at its own position.
const exact = -1

// middleNetwork returns comparators that, applied in order to any n values, leave those of ranks
// [from, to) at positions [from, to), in some order.
func middleNetwork(n, from, to int) []comparator {
	heap := make([]int, n)
	for i := range heap {
		switch {
		case i >= to:
			heap[i] = 2
		case i >= from:
			heap[i] = 1
		}
	}
	return prune(mergeExchange(n), heap)
}

// mergeExchange returns comparators that sort n values. A network compares without looking at the
// values, so it runs on many columns at once and without branches that the data decides.
//
// It is Batcher's merge exchange (Knuth, The Art of Computer Programming 3, section 5.2.2,
// algorithm M), which sorts any number of values with about n (log2 n)^2 / 4 comparators.
func mergeExchange(n int) []comparator {
	var network []comparator
	top := 1
	for 2*top < n {
		top *= 2
	}
	for p := top; p > 0 && n > 1; p /= 2 {
		q, r, d := top, 0, p
		for {
			for i := range n - d {
				if i&p == r {
					network = append(network, comparator{i, i + d})
				}
			}
			if q == p {
				break
			}
			d, q, r = q-p, q/2, p
		}
	}
	return network
}

// prune drops, from the last comparator backwards, each one whose two outputs end in the same heap,
// where the order does not matter. The outputs of the remaining comparators must stay as they are.
// heap names the heap of each rank, or is exact; it is overwritten.
func prune(network []comparator, heap []int) []comparator {
	kept := len(network)
	for k := len(network) - 1; k >= 0; k-- {
		c := network[k]
		if heap[c.lo] == heap[c.hi] && heap[c.lo] != exact {
			continue
		}
		heap[c.lo], heap[c.hi] = exact, exact
		kept--
		network[kept] = c
	}
	return network[kept:]
}
