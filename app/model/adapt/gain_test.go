package adapt

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/mnist"
)

// TestGain: a member with few rows gains by the model of many, one with many rows does not, and one with
// other patients loses with the shared model and not with the adapted one.
func TestGain(t *testing.T) {
	shared := []float64{2, -2, 1, -1}
	test := drawn(99, 4000, shared)
	few, err := Gain(drawn(1, 40, shared), test, shared, 0, nil)
	require.NoError(t, err)
	require.Equal(t, Better, few.Gain)
	require.Less(t, few.Models[0].Beside.High, 0.)
	many, err := Gain(drawn(2, 6000, shared), test, shared, 0, nil)
	require.NoError(t, err)
	require.Equal(t, Same, many.Gain)
	require.Less(t, math.Abs(many.Models[0].Beside.Value), None(many.Models[3].Brier.Value))

	own := []float64{2, -2, 1, 3}
	other, err := Gain(drawn(3, 4000, own), drawn(98, 4000, own), shared, 0, nil)
	require.NoError(t, err)
	require.Equal(t, []string{Shared, Intercept, Adapted, Alone}, []string{other.Models[0].Name, other.Models[1].Name,
		other.Models[2].Name, other.Models[3].Name})
	require.Equal(t, Worse, other.Models[0].Verdict)
	require.NotEqual(t, Worse, other.Gain)
	again, err := Gain(drawn(3, 4000, own), drawn(98, 4000, own), shared, 0, nil)
	require.NoError(t, err)
	require.Equal(t, other, again, "the draws are the same in every run")
}

// TestIntervalsAreOfGroups: ten copies of a row tell as much as one, so with groups the interval is wider.
func TestIntervalsAreOfGroups(t *testing.T) {
	shared := []float64{1, -1, 0, 0}
	one := drawn(7, 100, shared)
	test := mnist.Features{Inputs: 4}
	for i := range one.Len() {
		for range 10 {
			test.X, test.Labels = append(test.X, one.Row(i)...), append(test.Labels, one.Labels[i])
			test.Groups = append(test.Groups, uint32(i))
		}
	}
	width := func(f mnist.Features) float64 {
		r, err := Gain(drawn(8, 200, shared), f, shared, 0, nil)
		require.NoError(t, err)
		return r.Models[0].Brier.High - r.Models[0].Brier.Low
	}
	grouped := width(test)
	test.Groups = nil
	require.Greater(t, grouped, 2*width(test), "the square root of ten, less what the draws add")
}

func TestGainFails(t *testing.T) {
	rows, shared := drawn(1, 40, []float64{1, 0, 0, 0}), make([]float64, 4)
	test := drawn(2, 10, shared)
	clear(test.Labels)
	_, err := Gain(rows, test, shared, 0, nil)
	require.EqualError(t, err, "all 10 test rows have one label")
	_, err = Gain(rows, rows, shared[:3], 0, nil)
	require.ErrorContains(t, err, "do not fit")
}

// TestNone: a difference is none below a hundredth of the score of alone, and where four digits do not show it.
func TestNone(t *testing.T) {
	for _, c := range []struct {
		beside, alone float64
		want          string
	}{{-0.0021, 0.2, Better}, {-0.0019, 0.2, Same}, {-0.00004, 0.0001, Same}, {-0.00006, 0.0001, Better}} {
		m, drawn := Measured{}, make([]evaluate.Quality, draws)
		base := slices.Repeat([]evaluate.Quality{{Brier: c.alone}}, draws)
		for i := range drawn {
			drawn[i].Brier = c.alone + c.beside
		}
		m.set(drawn[0], base[0], drawn, base)
		require.Equal(t, c.want, m.Verdict, "%v", c)
	}
}
