package train_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// TestOnNodes: a training with two kinds of partition and an attack that sees
// everybody ends on real nodes in the model of the simulation, bit for bit.
func TestOnNodes(t *testing.T) {
	stage.OnlyLong(t)
	if testing.Short() {
		t.Skip("runs nets")
	}
	data, err := mnist.Embedded() // what the nodes train on
	require.NoError(t, err)
	for _, alpha := range []float64{0, 1} {
		s, err := train.Paper(train.DP, 4) // the mean: every gradient counts
		require.NoError(t, err)
		s.Params.Training.Rounds, s.Alpha, s.Byzantine, s.Attack, s.Seed = 5, alpha, 1, "minus-mean", 3
		rows, model, err := train.OnNodes(t.Context(), s, data)
		require.NoError(t, err)
		require.Len(t, rows, 5)
		require.Equal(t, 4.0, rows[4][1], "all took part")
		out, err := train.Run(t.Context(), s, data)
		require.NoError(t, err)
		require.Equal(t, out.Model, model)
		s.Attack = "sign-flip"
		other, err := train.Run(t.Context(), s, data)
		require.NoError(t, err)
		require.NotEqual(t, other.Model, model)
	}
	s, err := train.Paper(train.SPDL, 4)
	require.NoError(t, err)
	s.Params.Model.Hidden = 3
	_, _, err = train.OnNodes(t.Context(), s, data)
	require.ErrorContains(t, err, "3 hidden units")
}

// TestHiddenOnNodes: a manifest's hidden attackers, who see all honest gradients and search on the
// rule, do on real nodes what they do in the simulation, bit for bit.
func TestHiddenOnNodes(t *testing.T) {
	stage.OnlyLong(t)
	if testing.Short() {
		t.Skip("runs a net")
	}
	data, err := mnist.Embedded()
	require.NoError(t, err)
	s, err := train.Preset("default", 4)
	require.NoError(t, err)
	s.Params.Training.Rounds, s.Byzantine, s.Attack, s.Seed = 4, 1, "hidden-margin+own-noise", 5
	model := hiddenNet(t, s)
	out, err := train.Run(t.Context(), s, data)
	require.NoError(t, err)
	require.Equal(t, train.Fingerprint(out.Model), train.Fingerprint(model))
	s.Byzantine = 0
	honest, err := train.Run(t.Context(), s, data)
	require.NoError(t, err)
	require.NotEqual(t, train.Fingerprint(honest.Model), train.Fingerprint(model))
}

// hiddenNet runs the net of a manifest that names the attack of a spec.
func hiddenNet(t *testing.T, s train.Spec) []float64 {
	t.Helper()
	m := testnet.Manifest{
		Validators: s.Nodes, Seed: s.Seed, Home: filepath.Join(t.TempDir(), "net"), Memory: true,
		Adjust: func(p *params.Params) { p.Training.Rounds = s.Params.Training.Rounds },
	}
	for i := range s.Byzantine {
		m.Attacks = append(m.Attacks, testnet.Attack{Node: i, Kind: s.Attack})
	}
	n, err := testnet.Init(m)
	require.NoError(t, err)
	return netModel(t, n)
}

// netModel runs a net, and returns its last model.
func netModel(t *testing.T, n *testnet.Net) []float64 {
	t.Helper()
	require.NoError(t, train.Collude(n))
	nodes, err := testnet.StartInProcess(n, log.NewNopLogger())
	require.NoError(t, err)
	defer func() { require.NoError(t, nodes.Stop()) }()
	require.NoError(t, testnet.Follow(t.Context(), n, nil, func(r testnet.Round) error {
		require.Equal(t, n.Manifest.Validators, r.Included, "round %d waits for the colluders", r.Round)
		return nil
	}))
	c, err := client.New(n.Nodes[n.Manifest.HonestFirst()[0]].RPC)
	require.NoError(t, err)
	state, err := c.Model(t.Context())
	require.NoError(t, err)
	model, err := app.DecodeParameters(state.Parameters)
	require.NoError(t, err)
	return model
}

// TestColludersOfAnExternalModel: a colluder that knows what the other participants' trainers compute, and their noise,
// sends what cancels it: the model stays where it began, but for the rounding of a coordinate. Attacks that need more
// than vectors are rejected.
func TestColludersOfAnExternalModel(t *testing.T) {
	stage.OnlyLong(t) // runs nets
	python := stage.Python(t, "json")
	folder, err := filepath.Abs("../../../app/worker/trainer/testdata")
	require.NoError(t, err)
	model := filepath.Join(t.TempDir(), "model.json")
	text, err := json.Marshal(params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows,
		Tensors: []params.Tensor{{Name: "w", Shape: []uint32{1, 6}, Init: params.InitZeros}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(model, text, 0o600))
	m := testnet.Manifest{
		Validators: 4, Preset: preset.NameExternal, Model: model, Examples: 50, Rounds: 4, Seed: 5, Memory: true,
		Patience: time.Minute, Trainer: []string{python, "study.py", "right"}, TrainerDir: folder,
		TrainerRead: []string{"../python"},
		Adjust: func(p *params.Params) {
			p.Rule.Name, p.Privacy.NoiseFloor, p.Election.CommitReveal, p.Training.Momentum = "mean", false, false, 0
			p.Election.QuorumBlocks = 1000 // rounds wait for all
		},
	}
	length := func(attacks ...testnet.Attack) (l float64, p params.Params) {
		m.Home, m.Attacks = filepath.Join(t.TempDir(), "net"), attacks
		n, err := testnet.Init(m)
		require.NoError(t, err)
		for _, v := range netModel(t, n) {
			l = max(l, math.Abs(v))
		}
		return l, n.Genesis.Params
	}
	honest, p := length()
	stopped, _ := length(testnet.Attack{Node: 0, Kind: "minus-3-mean"})
	rounding := 4 * p.Training.LearningRate * p.Grid.Step / 8 // in each round half a step of one vector of four
	require.LessOrEqual(t, stopped, rounding)
	require.Greater(t, honest, 10*rounding)

	for _, kind := range []string{"hidden-ascent+own-noise", "label-flip"} {
		m.Attacks = []testnet.Attack{{Node: 0, Kind: kind}}
		_, err := testnet.Init(m)
		require.ErrorContains(t, err, "want one that is made of vectors, as alie or mimic")
	}
}

// TestShiftOnNodes: leaders that use all of the tolerance do so on real nodes as in the simulation,
// and the model is another than the honest leaders'.
func TestShiftOnNodes(t *testing.T) {
	stage.OnlyLong(t)
	if testing.Short() {
		t.Skip("runs a net")
	}
	data, err := mnist.Embedded()
	require.NoError(t, err)
	s, err := train.Preset("pixels", 4)
	require.NoError(t, err)
	s.Params.Training.Rounds, s.Params.Rule.Tolerance, s.Shift, s.Seed = 4, 2, true, 3
	_, model, err := train.OnNodes(t.Context(), s, data)
	require.NoError(t, err)
	out, err := train.Run(t.Context(), s, data)
	require.NoError(t, err)
	require.Equal(t, out.Model, model)
	s.Shift = false
	honest, err := train.Run(t.Context(), s, data)
	require.NoError(t, err)
	require.NotEqual(t, honest.Model, model)
}

// TestTime: a longer step makes the first stage longer, and the round is the sum of all stages. A
// round of which node 0 has not seen every stage has no times.
func TestTime(t *testing.T) {
	stage.OnlyLong(t)
	if testing.Short() {
		t.Skip("runs a net")
	}
	rows, err := train.Time(t.Context(), 4, 4, 700*time.Millisecond, 1)
	require.NoError(t, err)
	require.Len(t, rows, 4)
	timed := 0
	for _, row := range rows {
		if math.IsNaN(row[4]) {
			continue
		}
		timed++
		require.GreaterOrEqual(t, row[1], 700.0, "T_LGC")
		require.InDelta(t, row[1]+row[2]+row[3], row[4], 1e-6)
	}
	require.Positive(t, timed)
}
