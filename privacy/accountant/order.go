package accountant

import "math"

// The orders alpha at which divergences are taken: alpha - 1 in steps of 0.2 % (0.4 % between integers at 256), from
// where epsilon is in the millions to where it is 1e-3 at delta 1e-12. The best of them is within 2e-6 of the best of
// all in epsilon, as epsilon is flat there; and always within a step, also where divergences turn up sharply beyond the
// best order, at rates of 0.001 with noise of 20, say. From smallOrders on they are integers, for which the closed form
// is cheaper.
const (
	orderStep    = 1.0 / 512 // of log(alpha-1)
	lowestExcess = 1e-6      // alpha - 1
	smallOrders  = 256
	highestOrder = 1 << 17
)

var orders = makeOrders()

func makeOrders() []float64 {
	var all []float64
	for i := 0; ; i++ {
		alpha := 1 + lowestExcess*math.Exp(float64(i)*orderStep)
		if alpha > smallOrders {
			alpha = math.Round(alpha)
		}
		if alpha > highestOrder {
			return all
		}
		if len(all) == 0 || alpha > all[len(all)-1] {
			all = append(all, alpha)
		}
	}
}

// A mechanism whose divergence of order alpha is moment/(alpha-1) is (epsilon, delta)-private if
//
//	log delta = moment - (alpha-1) epsilon + conversion(alpha)
//
// (Canonne, Kamath and Steinke, proposition 12).
func conversion(alpha float64) float64 {
	return (alpha-1)*math.Log((alpha-1)/alpha) - math.Log(alpha)
}

// orderEpsilon returns the epsilon that one order gives. As moment and conversion are convex in
// alpha, it falls and then rises.
func orderEpsilon(alpha, moment, delta float64) float64 {
	return (moment + conversion(alpha) - math.Log(delta)) / (alpha - 1)
}

// lowest returns the least value over the indices below n of a function that falls and then rises, and where it is.
func lowest(n int, f func(int) float64) (value float64, at int) {
	low, high := 0, n-1
	for low < high {
		middle := (low + high) / 2
		if f(middle) <= f(middle+1) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return f(low), low
}
