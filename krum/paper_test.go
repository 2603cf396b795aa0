package krum

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
)

// Blanchard et al. 2017, section 4: "For each i, let s(i) = sum over i -> j of |V_i - V_j|^2 where
// the sum runs over the n-f-2 closest vectors to V_i."
func TestPaperScoreSumsSquaredDistancesToTheClosest(t *testing.T) {
	// On a line at 0, 1, 3, 7, 100: n = 5, f = 1, so two neighbours each.
	vs := []gradients.Vector{
		gradients.FromInt8([]int8{0}), gradients.FromInt8([]int8{1}), gradients.FromInt8([]int8{3}),
		gradients.FromInt8([]int8{7}), gradients.FromInt8([]int8{100}),
	}
	r, err := Select(gradients.Pairwise(vs), 1, Options{N: 5, F: 1})
	require.NoError(t, err)
	require.Equal(t, []int64{1 + 9, 1 + 4, 4 + 9, 16 + 36, 93*93 + 97*97}, r.Score)
	require.Equal(t, [][]int{{1, 2}, {0, 2}, {1, 0}, {2, 1}, {3, 2}}, r.Neighbours)
	require.Equal(t, []int{1}, r.Selected)
	require.Equal(t, int64(10-5), r.Margin)

	// SPDL, section on the blockchain consensus: "define near(i) to be the set of n-f-2 closest
	// gradients [...] the output of Krum is one of its input gradients, and the index of this
	// gradient is arg min_i sum_{j in near(i)} |g_i - g_j|", without a square.
	r, err = Select(gradients.Pairwise(vs), 2, Options{N: 5, F: 1, Unsquared: true})
	require.NoError(t, err)
	for i, score := range []int64{1 + 3, 1 + 2, 2 + 3, 4 + 6, 93 + 97} {
		require.Equal(t, score<<rootBits, r.Score[i])
	}
	require.Equal(t, []int{1, 0}, r.Selected)
}

// The same section: "i -> j denotes the fact that V_j belongs to the n-f-2 closest vectors to V_i",
// i != j.
func TestPaperAVectorIsNotItsOwnNeighbour(t *testing.T) {
	r := splitmix64(1)
	for range 500 {
		n, m, o := feasible(&r)
		got, err := Select(draw(&r, n, families["zeros"]), m, o)
		require.NoError(t, err)
		for i, near := range got.Neighbours {
			require.Len(t, near, o.N-o.F-2)
			require.NotContains(t, near, i)
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(near))), len(near), "no neighbour twice")
		}
	}
}

// "Finally, KR(V_1, ..., V_n) = V_i* where i* refers to the worker minimizing the score, s(i*) <=
// s(i) for all i." And: "if two or more workers have the minimal score, we choose the one with the
// smallest identifier" (footnote).
func TestPaperKrumIsTheArgmin(t *testing.T) {
	r := splitmix64(2)
	for range 500 {
		n, _, o := feasible(&r)
		o.Unsquared = false
		got, err := Select(draw(&r, n, families["ties"]), 1, o)
		require.NoError(t, err)
		best := got.Selected[0]
		for i, s := range got.Score {
			require.LessOrEqual(t, got.Score[best], s)
			if s == got.Score[best] {
				require.LessOrEqual(t, best, i)
			}
		}
	}
}

// "Krum ... 2f+2 < n" (proposition 4.2).
func TestPaperCondition(t *testing.T) {
	for f := range 20 {
		require.NoError(t, Condition(2*f+3, f))
		require.ErrorIs(t, Condition(2*f+2, f), ErrCondition)
	}
	require.ErrorIs(t, Condition(5, -1), ErrCondition)
	require.ErrorContains(t, Condition(4, 1), "N = 4, f = 1, want N >= 2f+3 = 5")
}

// With N = 4, f = 1 a score is one distance, and the two closest vectors share it: the minimum is a
// tie, always.
func TestPaperFourParticipantsAlwaysTie(t *testing.T) {
	for seed := range uint64(200) {
		for _, unsquared := range []bool{false, true} {
			r, err := Select(gradients.Pairwise(generate(4, 50, 127, seed)), 1, Options{N: 4, F: 1, Unsquared: unsquared})
			require.NoError(t, err)
			require.Zero(t, r.Margin)
			require.Equal(t, r.Selected[0], r.Neighbours[r.Neighbours[r.Selected[0]][0]][0], "mutual neighbours")
		}
	}
}

// SPDL's silent participants: they count in N and never as a zero vector. Three identical colluders
// among ten, far from everybody, must lose, although three honest participants are silent; they
// would win if N were the seven that are included, for their two nearest others would then be each
// other.
func TestSilentParticipantsDoNotLowerN(t *testing.T) {
	honest := generate(4, 200, 20, 9)
	colluder := gradients.NewVector(gradients.Int8, 200)
	for k := range 200 {
		colluder.Set(k, 127)
	}
	vs := append(slices.Clone(honest), colluder, colluder, colluder)
	d := gradients.Pairwise(vs)

	_, err := Select(d, 1, Options{N: 10, F: 2}) // 6 nearest others
	require.NoError(t, err)

	r, err := Select(d, 1, Options{N: 10, F: 3}) // 5 nearest others, of whom two at most are colluders
	require.NoError(t, err)
	require.Less(t, r.Selected[0], len(honest))

	wrong, err := Select(d, 1, Options{N: 7, F: 3}) // what N recomputed from the included set would do
	require.NoError(t, err)
	require.GreaterOrEqual(t, wrong.Selected[0], len(honest))

	// Missing vectors are at infinity: as soon as one is among the nearest, nobody has a score.
	_, err = Select(d, 1, Options{N: 10, F: 1})
	require.ErrorIs(t, err, ErrTooFew)
	// A zero vector for each silent participant would make a score possible, and the zero vector
	// win.
	silent := gradients.NewVector(gradients.Int8, 200)
	r, err = Select(gradients.Pairwise(append(slices.Clone(honest), silent, silent, silent)), 1, Options{N: 7, F: 2})
	require.NoError(t, err)
	require.GreaterOrEqual(t, r.Selected[0], len(honest))
}

// Noise-free duplicates are at distance 0 and would win; with the floor they are at the distance of
// honest noise.
func TestFloorTakesTheAdvantageFromDuplicates(t *testing.T) {
	honest := generate(7, 400, 8, 4)
	quiet := gradients.NewVector(gradients.Int8, 400)
	for k := range 400 {
		quiet.Set(k, 2)
	}
	vs := append(slices.Clone(honest), quiet, quiet, quiet)
	d := gradients.Pairwise(vs)
	o := Options{N: 10, F: 3}
	r, err := Select(d, 1, o)
	require.NoError(t, err)
	require.GreaterOrEqual(t, r.Selected[0], 7)
	o.Floor = 1 << 40 // above everything: all scores equal
	r, err = Select(d, 4, o)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2, 3}, r.Selected)
	require.Equal(t, 5*int64(1<<40), r.Score[9])
	require.Zero(t, r.Margin)
}
