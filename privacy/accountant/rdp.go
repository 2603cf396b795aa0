package accountant

// rdpEpsilon returns the least epsilon over all orders, and the order.
func rdpEpsilon(merged []Step, delta float64) (epsilon, alpha float64) {
	if len(merged) == 0 { // nothing has been released, which is (0, 0)-private
		return 0, orders[len(orders)-1]
	}
	epsilon, at := lowest(len(orders), func(i int) float64 {
		return orderEpsilon(orders[i], moments(merged, orders[i]), delta)
	})
	return max(epsilon, 0), orders[at]
}

// moments returns the sum of the steps' logMoments at an order: divergences of one order add up,
// even if each round's computation depends on the results of earlier rounds.
func moments(merged []Step, alpha float64) float64 {
	sum := 0.0
	for _, s := range merged {
		sum += float64(s.Rounds) * logMoment(s.Mechanism, alpha)
	}
	return sum
}
