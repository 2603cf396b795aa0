package contribution

import (
	"math/rand/v2"
	"slices"

	"github.com/spdl/spdl/gradients"
)

// game is a round as a cooperative game. The value of a coalition is the test loss after a round
// without gradients minus the loss after a round with the coalition's part of Delta.
type game struct {
	loss *testLoss
	base []float64   // the model after a round without the players' gradients
	step [][]float64 // what each player's part of Delta adds to the model
}

// at returns the loss of the model to which the players in order have added their steps.
func (g *game) at(players []int) float64 {
	x := slices.Clone(g.base)
	for _, i := range players {
		for j, v := range g.step[i] {
			x[j] += v
		}
	}
	return g.loss.at(x)
}

// work is about the number of additions that one loss takes. It decides how many goroutines are worth their cost.
func (g *game) work() int { return len(g.base) * len(g.loss.set.Labels) }

// leaveOneOut returns by how much the loss would be higher without each player, and the loss with all players.
func (g *game) leaveOneOut() (values []float64, full float64) {
	n := len(g.step)
	losses := make([]float64, n+1)
	gradients.InParallel(n+1, g.work(), func(i int) {
		others := make([]int, 0, n) // at last all players
		for k := range n {
			if k != i {
				others = append(others, k)
			}
		}
		losses[i] = g.at(others)
	})
	full = losses[n]
	for i := range n {
		losses[i] -= full
	}
	return losses[:n], full
}

// shapley returns an estimate of each player's Shapley value from pairs of permutations, of which
// one is the reverse of the other. In every pair each player comes once before and once after each
// other player, so the estimate is exact except for terms of the third order in the steps. The
// parameters empty and full are the losses with no players and with all.
func (g *game) shapley(pairs int, random *rand.Rand, empty, full float64) []float64 {
	n := len(g.step)
	orders := make([][]int, 0, 2*pairs)
	for range pairs {
		order := random.Perm(n)
		back := slices.Clone(order)
		slices.Reverse(back)
		orders = append(orders, order, back)
	}
	losses := make([][]float64, len(orders)) // by the number of players, 0 to n
	for i := range losses {
		losses[i] = make([]float64, n+1)
		losses[i][0], losses[i][n] = empty, full
	}
	gradients.InParallel(len(orders)*max(0, n-1), g.work(), func(k int) {
		order, players := k/(n-1), k%(n-1)+1
		losses[order][players] = g.at(orders[order][:players])
	})
	values := make([]float64, n)
	for o, order := range orders {
		for k, player := range order {
			values[player] += losses[o][k] - losses[o][k+1]
		}
	}
	for i := range values {
		values[i] /= float64(len(orders))
	}
	return values
}
