package app_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

func external(tensors ...params.Tensor) func(*params.Params) {
	return func(p *params.Params) {
		p.Model = params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows, Tensors: tensors}
	}
}

// TestExternalStartsAsTheMLP: tensors with the shapes of the MLP's layers have the same initial
// values as the MLP.
func TestExternalStartsAsTheMLP(t *testing.T) {
	mlp := apptest.State(4, func(p *params.Params) {
		p.Model = params.Model{Kind: params.ModelMLP, Inputs: 7, Hidden: 5, Classes: 3, Pool: 1, PixelScale: 255}
	})
	own := apptest.State(4, external(
		params.Tensor{Name: "a", Shape: []uint32{5, 7}, Init: params.InitGlorot}, params.Tensor{Name: "b", Shape: []uint32{5},
			Init: params.InitZeros},
		params.Tensor{Name: "c", Shape: []uint32{3, 5}, Init: params.InitGlorot}, params.Tensor{Name: "d", Shape: []uint32{3},
			Init: params.InitZeros},
	))
	require.Equal(t, mlp.Model, own.Model)
}

// TestNormalStart: the parameters have mean 0 and standard deviation sqrt(2/in), and are the same
// bits on every machine.
func TestNormalStart(t *testing.T) {
	s := apptest.State(4, external(params.Tensor{Name: "conv", Shape: []uint32{32, 16, 3, 3}, Init: params.InitNormal}))
	var sum, square float64
	for _, x := range s.Model {
		sum += x
		square += x * x
	}
	n := float64(len(s.Model))
	want := math.Sqrt(2.0 / (16 * 3 * 3))
	require.InDelta(t, 0, sum/n, 5*want/math.Sqrt(n))
	require.InDelta(t, want, math.Sqrt(square/n), 5*want/math.Sqrt(2*n))
	hash := sha256.Sum256(app.EncodeParameters(s.Model))
	require.Equal(t, "fadcea27f44d05956e5a50bbbab5751f8eca648e0924ec9e10c0ee77eec13b20", hex.EncodeToString(hash[:]))
}

// TestExternalRounds: a chain with an external model closes rounds.
func TestExternalRounds(t *testing.T) {
	s := apptest.State(4, external(params.Tensor{Name: "w", Shape: []uint32{2, 2, 2}, Init: params.InitNormal}))
	last := run(t, s, 3)[2]
	require.EqualValues(t, 3, last.Progress.Round)
	require.NotEqual(t, s.Model, last.Model)
}

// TestLogisticStartsAtTheRate: the first model of logistic regression gives a typical row the table's
// rate, with the same bits on every machine.
func TestLogisticStartsAtTheRate(t *testing.T) {
	for rate, bits := range map[float64]uint64{
		0.5: 0, 0.1: 0xc00d4bdc21cb0511, 0.001: 0xc02705c39a99f509, 0.999: 0x402705c39a99f509, 0.35: 0xbff081f96da6927c,
	} {
		s := apptest.State(4, func(p *params.Params) {
			p.Model = params.Model{Kind: params.ModelLogistic, Inputs: 2, Classes: 2, NoBias: true, Pool: 1, PixelScale: 1,
				Table: &params.Table{Label: "y", Classes: []string{"0", "1"}, Rate: rate,
					Columns: []params.Column{{Name: "a", High: 1}}}}
		})
		require.Len(t, s.Model, 2)
		require.Zero(t, s.Model[0])
		require.InDelta(t, math.Log(rate/(1-rate)), params.TableConstant*s.Model[1], 1e-12)
		require.Equal(t, bits, math.Float64bits(s.Model[1]), "rate %g", rate)
	}
}
