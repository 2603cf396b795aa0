package model_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
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
	same, err := e.Evaluate(parameters)
	require.NoError(t, err)
	q := same.Quality
	require.InDelta(t, 3.5/4, q.AUC, 1e-7, "one of four pairs is tied")
	require.InDelta(t, 3./4, q.Accuracy, 1e-7, "a tie is class 0")
	require.InDelta(t, (2./16+2./4)/4, q.Brier, 1e-7)
	require.InDelta(t, (0.25+0+0.25)/4, q.ECE, 1e-7)
	require.InDelta(t, same.Accuracy, q.Accuracy, 1e-9)
	require.InDelta(t, math.Sqrt(q.Brier/4), q.Error, 1e-7)
	set.Groups = []uint32{7, 3, 7, 3} // the differences 1/4, 1/2, -1/2, -1/4 in groups
	e, err = evaluate.New(set, m)
	require.NoError(t, err)
	same, err = e.Evaluate(parameters)
	require.NoError(t, err)
	require.InDelta(t, math.Sqrt(1./16+1./16)/4, same.Quality.Error, 1e-7)
}

// TestNoQuality: a test set with only one label, a probability that is not finite, and a model that does not have two
// classes have no quality.
func TestNoQuality(t *testing.T) {
	m := params.Model{Kind: params.ModelSoftmax, Inputs: 1, Classes: 2, Pool: 1, PixelMean: 1, PixelScale: 1}
	three := m
	three.Classes = 3
	for _, x := range []struct {
		labels     []uint8
		model      params.Model
		parameters []float64
		none       bool
	}{
		{[]uint8{0, 1}, m, make([]float64, 4), false},
		{[]uint8{1, 1}, m, make([]float64, 4), true},
		{[]uint8{0, 1}, m, []float64{0, math.MaxFloat64, 0, 0}, true},
		{[]uint8{0, 1}, three, make([]float64, 6), true},
	} {
		e, err := evaluate.New(mnist.Set{Rows: 1, Cols: 1, Images: []uint8{0, 2}, Labels: x.labels}, x.model)
		require.NoError(t, err)
		got, err := e.Evaluate(x.parameters)
		require.NoError(t, err)
		require.Equal(t, x.none, got.Quality == nil)
	}
}

// TestJudge: an accuracy comes with that of guessing and the recall of the rarer class, or of the worst of more
// classes; a class that is never predicted is named, and a mean probability three standard errors from the rate.
func TestJudge(t *testing.T) {
	m := params.Model{Classes: 2, Table: &params.Table{Label: "y", Classes: []string{"alive", "de\nad"}}}
	never := model.Eval{Examples: 100, Accuracy: 0.9, Guesses: []int{90, 0, 10, 0},
		Quality: &model.Quality{AUC: 0.7, Brier: 0.1, Rate: 0.1, Mean: 0.04, Error: 0.0201}}
	got := evaluate.Judge(never, m)
	require.Equal(t, "guessing y=alive gives 0.9000; AUC 0.7000, Brier score 0.1000 (by the rate 0.0900); recall of "+
		"y=de\\nad, 0.0000 of 10", got.String())
	require.Equal(t, []string{"y=de\\nad is never predicted: 10 test examples have it"}, got.Warnings)
	never.Quality.Error, never.Guesses = 0.0199, []int{9, 1, 20, 70} // the first class is the rarer one now
	got = evaluate.Judge(never, m)
	require.Equal(t, []any{"y=alive", 0.9, 10, 0.9}, []any{got.Class, got.Recall, got.Examples, got.Majority})
	require.Equal(t, []string{"the mean probability of y=de\\nad is 0.040 and its rate 0.100, 3.0 standard errors apart " +
		"(want 3 at most): do not take the probabilities as they are: spdl model adapt fits them to one's own " +
		"rows"}, got.Warnings)
	// of three classes the second has no example
	got = evaluate.Judge(model.Eval{Examples: 30, Guesses: []int{18, 0, 2, 0, 0, 0, 5, 0, 5}}, params.Model{Classes: 3})
	require.Equal(t, "guessing class 0 gives 0.6667; the least recall is that of class 2, 0.5000 of 10", got.String())
	require.Empty(t, got.Warnings)
	require.Nil(t, evaluate.Judge(model.Eval{Accuracy: 1}, m), "a trainer gives no counts")
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
