package evaluate_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// TestQuality compares the measures with measures computed by hand, for the probabilities of 0.25,
// 0.5, 0.5 and 0.75.
func TestQuality(t *testing.T) {
	m := params.Model{Kind: params.ModelSoftmax, Inputs: 1, Classes: 2, Pool: 1, PixelMean: 1, PixelScale: 1}
	set := mnist.Set{Rows: 1, Cols: 1, Images: []uint8{0, 1, 1, 2}, Labels: []uint8{0, 0, 1, 1}}
	e, err := evaluate.New(set, m)
	require.NoError(t, err)
	parameters := []float64{0, math.Log(3), 0, 0}
	q, err := e.Quality(parameters)
	require.NoError(t, err)
	require.InDelta(t, 3.5/4, q.AUC, 1e-7, "one of four pairs is tied")
	require.InDelta(t, 3./4, q.Accuracy, 1e-7, "a tie is class 0")
	require.InDelta(t, (2./16+2./4)/4, q.Brier, 1e-7)
	require.InDelta(t, (0.25+0+0.25)/4, q.ECE, 1e-7)
	same, err := e.Evaluate(parameters)
	require.NoError(t, err)
	require.InDelta(t, same.Accuracy, q.Accuracy, 1e-9)
}

// TestQualityFails: Quality fails for a test set with only one label, a wrong number of parameters,
// a probability that is not finite, and a model that does not have two classes.
func TestQualityFails(t *testing.T) {
	m := params.Model{Kind: params.ModelSoftmax, Inputs: 1, Classes: 2, Pool: 1, PixelMean: 1, PixelScale: 1}
	set := mnist.Set{Rows: 1, Cols: 1, Images: []uint8{0, 2}, Labels: []uint8{1, 1}}
	e, err := evaluate.New(set, m)
	require.NoError(t, err)
	_, err = e.Quality(make([]float64, 4))
	require.EqualError(t, err, "all 2 examples of the test set have one label")
	_, err = e.Quality(make([]float64, 3))
	require.EqualError(t, err, "3 parameters, the model has 4")
	set.Labels = []uint8{0, 1}
	e, err = evaluate.New(set, m)
	require.NoError(t, err)
	_, err = e.Quality([]float64{0, math.MaxFloat64, 0, 0})
	require.ErrorContains(t, err, "is not finite")
	m.Classes = 3
	e, err = evaluate.New(set, m)
	require.NoError(t, err)
	_, err = e.Quality(nil)
	require.EqualError(t, err, "the model has 3 classes, want 2")
}

// TestMeasures compares the measures with those of every row written out as often as it counts.
func TestMeasures(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	var all, counts, chance, label []float64
	var labels []uint8
	for i := range 60 {
		p, y := float64(random.IntN(20))/20, uint8(random.IntN(2)) // many are equal
		all, labels, counts = append(all, p), append(labels, y), append(counts, float64(i%3))
		for range i % 3 {
			chance, label = append(chance, p), append(label, float64(y))
		}
	}
	var wins, pairs, brier, hits, called, ones float64
	for i, p := range chance {
		brier += (p - label[i]) * (p - label[i]) / float64(len(chance))
		if ones += label[i]; p >= 0.4 {
			hits, called = hits+label[i], called+1
		}
		for j, q := range chance {
			if label[i] == 1 && label[j] == 0 {
				if pairs++; p > q {
					wins++
				} else if p == q {
					wins += 0.5
				}
			}
		}
	}
	s := evaluate.Score(all, labels)
	got := s.Measure(counts, 0.4)
	require.InDeltaSlice(t, []float64{wins / pairs, brier, hits / ones, hits / called, ones / float64(len(chance))},
		[]float64{got.AUC, got.Brier, got.Recall, got.Precision, got.Rate}, 1e-12)
	n, ece := 0, 0.
	for _, b := range s.Curve(counts) {
		n += b.Rows
		ece += float64(b.Rows) * math.Abs(b.Chance-b.Positive) / float64(len(chance))
	}
	require.Equal(t, len(chance), n)
	require.InDelta(t, ece, got.ECE, 1e-12)
}
