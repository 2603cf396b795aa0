package experiment

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// TestRegret: a cell is compared with the comparator of its T and seed.
func TestRegret(t *testing.T) {
	sum := func(T float64, seed uint64, loss float64) Result {
		return Result{Cell: Cell{X: T}, Seed: seed, Columns: []string{"round", "loss_sum"}, Rows: []row{{T, loss}}}
	}
	against := Results{sum(4, 1, 10), sum(4, 2, 20), sum(16, 1, 100), sum(16, 2, 200)}
	l := Results{sum(4, 1, 12), sum(4, 2, 23), sum(16, 1, 104), sum(16, 2, 206)}.regret("x", against)
	want := figure.Line{Name: "x", X: []float64{4, 16}, Y: []float64{2.5, 5}, Low: []float64{2, 4}, High: []float64{3, 6},
		Dots: true}
	require.Equal(t, want, l)
	require.InDelta(t, 0.5, exponent(l, 1), 1e-9)
	require.True(t, math.IsNaN(exponent(l, 0)))
	require.Equal(t, []float64{1.25, 1.25}, overRoot(l).Y)
	require.Equal(t, []float64{1.5, 1.5}, overRoot(l).High)
	require.Equal(t, []float64{2.5, 5}, l.Y, "of another line")
	require.Empty(t, Results{sum(9, 1, 12)}.regret("x", against).X)
}

// TestRho: "rho = 6 L_1 f^(3/2) sqrt(d(sigma^2+sigma_f^2)) / (1 - L_1)", "and L_1 < 1".
func TestRho(t *testing.T) {
	require.InDelta(t, 6*0.5*8*3/0.5, rho(0.5, 4, 9), 1e-9)
	require.True(t, math.IsNaN(rho(1, 4, 9)))
}

// TestTheorem1 holds the formulas to numbers that were worked out by hand: f^(3/4) = 8, f^(3/2) =
// 64.
func TestTheorem1(t *testing.T) {
	x := theorem1{gradient: 36, sampling: 0.125, noise: 0.875, aligned: 27, n: 50, f: 16, d: 9, sensitivity: 0.01}
	require.InDelta(t, 36.0/8/(18*0.125), x.premise(), 1e-9)
	require.InDelta(t, math.Sqrt(0.02*math.Log(1.25e6)/(36.0/8/162-0.125/9)), x.epsilon(), 1e-9)
	require.InDelta(t, 1-3*math.Sqrt2*64*3/6/9, x.stated(), 1e-9)
	require.InDelta(t, 1-3*math.Sqrt2*64/6, x.proved(), 1e-9)
	require.InDelta(t, 1-math.Sqrt(2*(34+(16*32+256*33)/16.0))/6, x.blanchard(), 1e-9)
	require.InDelta(t, 0.75, x.measured(), 1e-9)
	require.Less(t, x.proved(), x.blanchard(), "the paper's last step is cruder")
	without := x
	without.sensitivity = 0
	require.True(t, math.IsNaN(without.epsilon()))
	x.sampling = 0.25
	require.InDelta(t, 1, x.premise(), 1e-9)
	require.True(t, math.IsNaN(x.epsilon()), "at equality the premise fails")
}

// TestResilienceTable: the premise and the rounds against g are counted over rounds and seeds, and
// the k that is measured is drawn as means of ten rounds.
func TestResilienceTable(t *testing.T) {
	cells, err := resilience.cells(Options{Quick: true})
	require.NoError(t, err)
	columns := cells[0].columns()
	var results Results
	for seed, aligned := range []float64{4, -2} {
		x := Result{Cell: cells[0], Seed: uint64(seed + 1), Columns: columns}
		for round := range 11 {
			line := make(row, len(columns))
			line[0] = float64(round + 1)
			copy(line[len(train.Columns):], []float64{4, 0.001 * float64(1+10*round), 1, aligned})
			x.Rows = append(x.Rows, line)
		}
		results = append(results, x)
	}
	f, table := resilience.draw(results)
	require.Equal(t, []string{"paper, krum", clean, "0 of 20", "2.000"}, table.Rows[0][:4])
	require.Equal(t, "12 of 22", table.Rows[0][6], "4/6^0.75 = 1.043 is above 18 times 0.001 to 0.051 in six "+
		"rounds of a seed")
	require.Equal(t, []string{"0.250", "11 of 22"}, table.Rows[0][12:])
	k := f.Panels[2].Lines[0]
	require.Equal(t, figure.Line{Name: clean, X: []float64{10, 20}, Y: []float64{0.25, 0.25}}, k)
}
